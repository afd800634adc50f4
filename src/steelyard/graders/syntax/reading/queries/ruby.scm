; See python.scm.

(if condition: (_) @is_false consequence: (_) @never)
(if condition: (_) @is_true alternative: (_) @never)
(if condition: (_) @is_open consequence: (_) @guard)
(if condition: (_) @is_open alternative: (_) @guard)
(if_modifier body: (_) @never condition: (_) @is_false)
(if_modifier body: (_) @guard condition: (_) @is_open)
(unless condition: (_) @is_true consequence: (_) @never)
(unless condition: (_) @is_open consequence: (_) @guard)
(unless_modifier body: (_) @never condition: (_) @is_true)
(unless_modifier body: (_) @guard condition: (_) @is_open)
(if condition: (_) @condition consequence: (_) @failing) @at
(unless condition: (_) @condition consequence: (_) @failing) @at
(while condition: (_) @is_false body: (_) @never)
(for value: (_) @is_empty body: (_) @empty_loop)
(for pattern: (_) @names value: (_) @rows) @loop
(begin (rescue) @swallows) @swallowed
(body_statement (rescue) @swallows) @swallowed
([(body_statement [(return) (break) (next)] @end) (block_body [(return) (break) (next)] @end)
  (then [(return) (break) (next)] @end) (begin [(return) (break) (next)] @end)] @block)
(body_statement [(if_modifier body: [(return) (break) (next)]) (unless_modifier body: [(return) (break) (next)])
  (if consequence: (then [(return) (break) (next)] .) !alternative)] @guard_from) @block
[(body_statement (identifier) @word) (block_body (identifier) @word) (then (identifier) @word)
  (program (identifier) @word) (if_modifier body: (identifier) @word) (unless_modifier body: (identifier) @word)]
(comment) @comment
