; Where an assertion of a test cannot fail, or only sometimes. `regions.py` explains the captures.

(if_statement condition: (_) @c consequence: (_) @script (#match? @c "^\\(?__name__ *== *.__main__.\\)?$"))
(while_statement condition: (_) @is_false body: (_) @never)
(boolean_operator left: (_) @is_false operator: "and" right: (_) @never)
(boolean_operator left: (_) @is_true operator: "or" right: (_) @never)
(for_statement right: (_) @is_empty body: (_) @empty_loop)
(for_statement left: (_) @names right: (_) @rows) @loop

(try_statement body: (_) @swallowed (except_clause) @swallows)
(try_statement body: (_) @swallowed
  (finally_clause (block [(return_statement) (break_statement) (continue_statement)])))
(with_statement (with_clause) @with body: (_) @swallowed
  (#match? @with "suppress\\(.*(Exception|AssertionError)"))
(with_statement (with_clause) @with body: (_) @expected (#match? @with "aises\\(.*AssertionError"))
(with_statement (with_clause) @raised body: (block (raise_statement)) (#match? @raised "[rR]aises\\("))

(block [(return_statement) (raise_statement) (break_statement) (continue_statement)] @end) @block
(block (with_statement body: (block
  [(return_statement) (raise_statement) (break_statement) (continue_statement)])) @end) @block
(block (try_statement body: (block [(return_statement) (raise_statement)]) . (finally_clause)) @end) @block
(block (while_statement condition: (_) @is_true body: (block [(return_statement) (raise_statement)])) @end) @block
(block (expression_statement (call function: (_) @f)) @end
  (#any-of? @f "os._exit" "sys.exit" "pytest.exit" "exit" "quit")) @block
(block (if_statement consequence: (block [(return_statement) (break_statement) (continue_statement)] .) @is_silent
  !alternative) @guard_from) @block

(decorated_definition) @function
(comment) @comment
(assert_statement . (_) @condition) @assert
[(import_statement) (import_from_statement)] @import
(delete_statement) @delete
(yield) @yield
