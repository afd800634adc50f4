; See python.scm.

(if_statement condition: (_) @is_false consequence: (_) @never)
(if_statement condition: (_) @is_true alternative: (_) @never)
(if_statement condition: (_) @is_open consequence: (_) @guard)
(if_statement condition: (_) @is_open alternative: (_) @guard)
(if_statement condition: (_) @condition consequence: (_) @failing) @at
(for_statement (range_clause right: (_) @is_empty) body: (_) @empty_loop)
(for_statement (range_clause left: (_) @names right: (_) @rows)) @loop
(statement_list [(return_statement) (break_statement) (continue_statement)] @end) @block
(statement_list (if_statement consequence: (block (statement_list
  [(return_statement) (break_statement) (continue_statement)] .)) @is_silent !alternative) @guard_from) @block
(comment) @comment
