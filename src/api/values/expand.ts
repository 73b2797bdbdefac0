/**
 * Replaces `$(NAME)` by `lookup(NAME)`, or leaves it if that returns undefined; `$$` becomes `$`. Inserted text is not
 * expanded again. kubelet: third_party/forked/golang/expansion Expand
 */
export function expand(text: string, lookup: (name: string) => string | undefined): string {
  // No name ends after the last parenthesis. Searching there for every reference would be slow.
  const namesEnd = text.lastIndexOf(')') + 1;
  const expanded = text
    .slice(0, namesEnd)
    .replace(/\$(?:\$|\(([^)]*)\))/g, (reference, name: string | undefined) =>
      name === undefined ? '$' : (lookup(name) ?? reference),
    );
  return expanded + text.slice(namesEnd).replaceAll('$$', () => '$');
}
