; See python.scm.

(for_statement (range_clause right: (_) @is_empty) body: (_) @empty_loop)
(for_statement (range_clause left: (_) @names right: (_) @rows)) @loop
(statement_list [(return_statement) (break_statement) (continue_statement)] @end) @block
(statement_list (if_statement consequence: (block (statement_list
  [(return_statement) (break_statement) (continue_statement)] .)) @is_silent !alternative) @guard_from) @block
(comment) @comment
