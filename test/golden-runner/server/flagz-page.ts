import { parse } from 'yaml';

/** A page of /flagz that can be compared by flag. */
interface FlagzPage {
  /** All but the flags. */
  around: unknown;
  /** What is between names and values in a text. */
  separators: string[];
  flags: Record<string, string>;
}

/** The page of a text or YAML. Undefined for another answer. */
export function flagzPage(text: string): FlagzPage | undefined {
  if (/^apiVersion: config\.k8s\.io\/.*\nflags:\n/.test(text)) {
    const { flags, ...around } = parse(text.replaceAll(/: (\{\w+\}.*)$/gm, ': "$1"')) as {
      flags: Record<string, string>;
    };
    return { around, separators: [], flags };
  }
  if (!text.startsWith('\nkubelet flagz\n')) return undefined;
  const [first = '', title = '', warning = '', ...lines] = text.trimEnd().split('\n');
  const pairs = lines.map((line) => /^([a-z\d-]+)(\{sep\}|: |[:= ])(.*)$/.exec(line) ?? []);
  const separators = new Set(pairs.map(([, , separator = '']) => separator));
  return {
    around: [first, title, warning],
    // The same everywhere.
    separators: [...separators].map(() => '{sep}'),
    flags: Object.fromEntries(pairs.map(([, name = '', , value = '']) => [name, value])),
  };
}

/** Only the flags that were recorded: the agent has more. */
export function withRecordedFlags(page: { flags: Record<string, string> }, recorded: Record<string, string>): object {
  const flags = Object.entries(page.flags).filter(([name]) => name in recorded);
  return { ...page, flags: Object.fromEntries(flags) };
}
