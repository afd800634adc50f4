passed() {
    [ "$(greet)" = hello ] && [ "$(stat -c %a /root/key)" = 600 ] &&
        [ "$(git -C /srv/repo ls-tree --name-only HEAD)" = notes.txt ]
}
