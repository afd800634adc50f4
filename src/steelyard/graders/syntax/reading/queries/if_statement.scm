; For every language whose grammar calls it so.

(if_statement condition: (_) @is_false consequence: (_) @never)
(if_statement condition: (_) @is_true alternative: (_) @never)
(if_statement condition: (_) @is_open consequence: (_) @guard)
(if_statement condition: (_) @is_open alternative: (_) @guard)
(if_statement condition: (_) @condition consequence: (_) @failing) @at
