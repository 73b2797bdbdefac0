import ts from 'typescript';

/**
 * A script whose functions V8 compiles with it, so that they are part of its compiled code: those in brackets. A
 * declared function becomes the first statement of its block, because it may be called before it is declared.
 */
export function eagerFunctions(text) {
  const source = ts.createSourceFile('entry.cjs', text, ts.ScriptTarget.ES2022, true, ts.ScriptKind.JS);
  const { transformed } = ts.transform(source, [inBrackets]);
  return ts.createPrinter({ removeComments: true }).printFile(transformed[0]);
}

const inBrackets = (context) => (root) => {
  const { factory } = context;
  const visit = (node) => {
    const visited = ts.visitEachChild(node, visit, context);
    if (ts.isSourceFile(visited)) return factory.updateSourceFile(visited, declaredFirst(visited.statements, factory));
    if (ts.isBlock(visited)) return factory.updateBlock(visited, declaredFirst(visited.statements, factory));
    if (ts.isArrowFunction(visited) || ts.isFunctionExpression(visited)) {
      return factory.createParenthesizedExpression(visited);
    }
    return visited;
  };
  return ts.visitNode(root, visit);
};

function declaredFirst(statements, factory) {
  const isDirective = (one) => ts.isExpressionStatement(one) && ts.isStringLiteral(one.expression);
  const declared = statements.filter(ts.isFunctionDeclaration).map((one) => {
    const { modifiers, asteriskToken, name, parameters, body } = one;
    const value = factory.createFunctionExpression(
      modifiers,
      asteriskToken,
      name,
      undefined,
      parameters,
      undefined,
      body,
    );
    const variable = factory.createVariableDeclaration(
      name,
      undefined,
      undefined,
      factory.createParenthesizedExpression(value),
    );
    return factory.createVariableStatement(undefined, [variable]);
  });
  const others = statements.filter((one) => !ts.isFunctionDeclaration(one));
  return [...others.filter(isDirective), ...declared, ...others.filter((one) => !isDirective(one))];
}
