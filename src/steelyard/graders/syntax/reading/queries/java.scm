; See python.scm.

(while_statement condition: (_) @is_false body: (_) @never)
(binary_expression left: (_) @is_false operator: "&&" right: (_) @never)
(binary_expression left: (_) @is_true operator: "||" right: (_) @never)
(enhanced_for_statement value: (_) @is_empty body: (_) @empty_loop)
(enhanced_for_statement name: (_) @names value: (_) @rows) @loop
(try_statement body: (_) @swallowed (catch_clause) @swallows)
(try_with_resources_statement body: (_) @swallowed (catch_clause) @swallows)
(try_statement body: (_) @swallowed
  (finally_clause (block [(return_statement) (break_statement) (continue_statement)])))
(block [(return_statement) (throw_statement) (break_statement) (continue_statement)] @end) @block
(block (try_statement body: (block [(return_statement) (throw_statement)]) . (finally_clause)) @end) @block
(block (while_statement condition: (_) @is_true body: (block [(return_statement) (throw_statement)])) @end) @block
(block (if_statement consequence:
  [(block [(return_statement) (break_statement) (continue_statement)] .)
   (return_statement) (break_statement) (continue_statement)] @is_silent !alternative) @guard_from) @block
[(line_comment) (block_comment)] @comment
(assert_statement . (_) @condition) @assert
