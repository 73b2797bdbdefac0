/**
 * Replaces `$(NAME)` by what `lookup` gives for it, or leaves it as written when that is nothing; `$$` becomes `$`. One
 * pass: what was put in is not expanded again. kubelet: third_party/forked/golang/expansion Expand
 */
export function expand(text: string, lookup: (name: string) => string | undefined): string {
  return text.replace(/\$(?:\$|\(([^)]*)\))/g, (reference, name: string | undefined) =>
    name === undefined ? '$' : (lookup(name) ?? reference),
  );
}
