/**
 * Replaces `$(NAME)` by what `lookup` gives for it, or leaves it as written when that is nothing; `$$` becomes `$`. One
 * pass: what was put in is not expanded again. kubelet: third_party/forked/golang/expansion Expand
 */
export function expand(text: string, lookup: (name: string) => string | undefined): string {
  // Behind the last parenthesis no name ends, and looking for its end again and again takes long.
  const namesEnd = text.lastIndexOf(')') + 1;
  const expanded = text
    .slice(0, namesEnd)
    .replace(/\$(?:\$|\(([^)]*)\))/g, (reference, name: string | undefined) =>
      name === undefined ? '$' : (lookup(name) ?? reference),
    );
  return expanded + text.slice(namesEnd).replaceAll('$$', () => '$');
}
