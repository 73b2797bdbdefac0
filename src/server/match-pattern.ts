/**
 * The parts of a path that a pattern such as `/pods/{namespace}/{name}` names. `{name:*}` takes all parts that follow.
 * Returns undefined if the pattern does not match. kubelet: go-restful's CurlyRouter
 */
export function matchPattern(pattern: string, path: readonly string[]): Record<string, string> | undefined {
  const tokens = pattern.split('/').filter((token) => token !== '');
  const parts = path.slice(0, path.findLastIndex((part) => part !== '') + 1);
  const params: Record<string, string> = {};
  for (const [index, token] of tokens.entries()) {
    const name = /^\{(\w+)(:\*)?\}$/.exec(token);
    if (name?.[2] !== undefined) {
      if (parts.length <= index) return undefined;
      params[name[1] ?? ''] = path.slice(index).join('/');
      return params;
    }
    const part = parts[index];
    if (part === undefined) return undefined;
    if (name === null && token !== part) return undefined;
    if (name !== null) params[name[1] ?? ''] = part;
  }
  return parts.length === tokens.length ? params : undefined;
}
