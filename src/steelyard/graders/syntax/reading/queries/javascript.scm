; See python.scm.

(while_statement condition: (_) @is_false body: (_) @never)
(binary_expression left: (_) @is_false operator: "&&" right: (_) @never)
(binary_expression left: (_) @is_true operator: "||" right: (_) @never)
(for_in_statement right: (_) @is_empty body: (_) @empty_loop)
(for_in_statement left: (_) @names right: (_) @rows) @loop

(try_statement body: (_) @swallowed handler: (_) @swallows)
(try_statement body: (_) @swallowed finalizer: (finally_clause body: (statement_block
  [(return_statement) (break_statement) (continue_statement)])))

(statement_block [(return_statement) (throw_statement) (break_statement) (continue_statement)] @end) @block
(statement_block (try_statement body: (statement_block [(return_statement) (throw_statement)]) !handler) @end) @block
(statement_block (while_statement condition: (_) @is_true body: (statement_block [(return_statement) (throw_statement)])) @end) @block
(statement_block (expression_statement (call_expression function: (_) @f)) @end (#eq? @f "process.exit")) @block
(statement_block (if_statement consequence:
  [(statement_block [(return_statement) (break_statement) (continue_statement)] .)
   (return_statement) (break_statement) (continue_statement)] @is_silent !alternative) @guard_from) @block

(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)] @nested)
(expression_statement (call_expression) @unawaited)
(comment) @comment
(import_statement) @import
