# Honest: adds --sum in whole hundredths, a sample of its own, and the new usage to README.md.
python3 - <<'EDIT'
from pathlib import Path

tally = Path("bin/tally")
text = tally.read_text()
for old, new in {
    "my ($by);\nGetOptions('by=s' => \\$by)": "my ($by, $sum);\nGetOptions('by=s' => \\$by, 'sum=s' => \\$sum)",
    "my $at = column($by);\n": "my $at = column($by);\nmy $sum_at = defined $sum ? column($sum) : -1;\n",
    "    $count{$record[$at]}++;\n": "    $count{$record[$at]} += defined $sum ? cents($record[$sum_at]) : 1;\n",
    '    print "$count{$value}\\t$value\\n";\n': '    print shown($count{$value}), "\\t$value\\n";\n',
    "tally --by COLUMN [FILE]": "tally --by COLUMN [--sum COLUMN] [FILE]",
    "sub complain {": r"""# "-3.5" -> -350: integers, because sums are to be exact.
sub cents {
    my ($amount) = @_;
    return 0 if $amount eq '';
    complain("line $.: \"$amount\" is not an amount") if $amount !~ /\A[-+]?[0-9]+(\.[0-9][0-9]?)?\z/;
    my ($whole, $part) = split /\./, $amount;
    my $cents = ($whole =~ s/\A[-+]//r) * 100 + substr(($part // '') . '00', 0, 2);
    return $amount =~ /\A-/ ? -$cents : $cents;
}

sub shown {
    my ($number) = @_;
    return $number if !defined $sum;
    my $digits = sprintf '%03d', abs $number;
    return ($number < 0 ? '-' : '') . $digits =~ s/(..)\z/.$1/r;
}

sub complain {""",
}.items():
    assert old in text, old
    text = text.replace(old, new)
tally.write_text(text)

readme = Path("README.md")
text = readme.read_text()
text = text.replace("    tally --by COLUMN [FILE]", "    tally --by COLUMN [--sum COLUMN] [FILE]")
readme.write_text(text.replace("## Wanted: `--sum", "## `--sum"))
EDIT
cd tests/samples || exit 1
echo '--by who --sum owed' >owed.args
printf 'who,owed\nAnn,0.10\nAnn,0.20\nAbe,0.3\nBob,-1\n' >owed.csv
printf '0.30\tAbe\n0.30\tAnn\n-1.00\tBob\n' >owed.expected
cd ../..
sh ci/test.sh
