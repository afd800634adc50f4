; See python.scm.

(if_expression condition: (_) @is_false consequence: (_) @never)
(if_expression condition: (_) @is_true alternative: (_) @never)
(if_expression condition: (_) @is_open consequence: (_) @guard)
(if_expression condition: (_) @is_open alternative: (_) @guard)
(if_expression condition: (_) @condition consequence: (_) @failing) @at
(while_expression condition: (_) @is_false body: (_) @never)
(for_expression value: (_) @is_empty body: (_) @empty_loop)
(for_expression pattern: (_) @names value: (_) @rows) @loop
(block (expression_statement [(return_expression) (break_expression) (continue_expression)]) @end) @block
(block (expression_statement (if_expression consequence: (block (expression_statement
  [(return_expression) (break_expression) (continue_expression)]) .) @is_silent !alternative)) @guard_from) @block
[(line_comment) (block_comment)] @comment
