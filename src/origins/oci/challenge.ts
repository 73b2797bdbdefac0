/** How a registry wants a client to authenticate. RFC 9110 section 11.6.1 */
export interface Challenge {
  scheme: 'basic' | 'bearer';
  /** Keys are lowercase names, such as `realm`, `service` and `scope`. */
  parameters: ReadonlyMap<string, string>;
}

/** No registry sends a longer one. */
const maxLength = 4096;

/** Parses `WWW-Authenticate`. Prefers Bearer. Returns undefined if it has neither scheme. */
export function parseChallenge(header: string): Challenge | undefined {
  const challenges: { scheme: string; parameters: Map<string, string> }[] = [];
  const token = /\s*,?\s*(?:([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))|([\w-]+))/y;
  const text = header.slice(0, maxLength);
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [, name, quoted, plain, scheme] = match;
    if (scheme !== undefined) challenges.push({ scheme: scheme.toLowerCase(), parameters: new Map() });
    if (name === undefined) continue;
    challenges.at(-1)?.parameters.set(name.toLowerCase(), quoted?.replaceAll(/\\(.)/g, '$1') ?? plain ?? '');
  }
  for (const scheme of ['bearer', 'basic'] as const) {
    const found = challenges.find((challenge) => challenge.scheme === scheme);
    if (found !== undefined) return { scheme, parameters: found.parameters };
  }
  return undefined;
}
