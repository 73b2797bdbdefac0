import type { SecretValues } from '../../engine/redaction/secret-values.ts';

const hidden = '<hidden>';

/** A file of the bundle before it is redacted. */
export interface Part {
  /** Path in the archive. */
  name: string;
  content: { json: unknown } | { text: string };
}

/** Names of fields with credentials, unless their value is a path or another name. */
const credentialName =
  /passw|passphrase|pwd|secret|token|credential|authorization|cookie|(?:api|private|access|encryption|signing|master)[-_]?key/i;
const nameOfOther = /(?:file|path|dir|name|ref)$/i;
/** Fields of Secrets and ConfigMaps, applied to any kind: list items have none, and broken manifests a wrong one. */
const contentField = /^(?:data|stringData|binaryData)$/i;
/** Lists of `{name, value}`. */
const variableLists: readonly string[] = ['env', 'httpHeaders'];
/** Headers of the configuration and of the flags. */
const headerFields: readonly string[] = ['staticPodURLHeader', 'manifestURLHeaders', 'statusURLHeaders'];
/** Annotations of Kubernetes and kubelet-ts.io have known values, except the one that copies a whole manifest. */
const knownAnnotation = /^(?:[\w.-]+\.)?(?:kubernetes|kubelet-ts)\.io\/(?!last-applied-configuration$)/;
/** An argument that the credential follows, such as `--password`. */
const credentialFlag = /^--?[\w-]*(?:pass|passw(?:or)?d|passphrase|pwd|secret|token|key)$/i;

/**
 * Replaces every value at a position that may hold a secret: variables, Secrets, ConfigMaps, headers, annotations and
 * fields named like credentials. `hides` receives each value and returns its replacement. All other strings, even
 * names, pass through `text`.
 */
class Redaction {
  private readonly text: (text: string) => string;
  private readonly hides: (value: string) => string;

  constructor(deps: { text: (text: string) => string; hides: (value: string) => string }) {
    this.text = deps.text;
    this.hides = deps.hides;
  }

  value(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (typeof value === 'bigint') return value.toString();
    if (Array.isArray(value)) return value.map((item, index) => this.item(item, value[index - 1]));
    if (typeof value !== 'object' || value === null) return value;
    return this.fields(value, (name, field) => this.field(name, field));
  }

  private item(item: unknown, before: unknown): unknown {
    if (typeof item !== 'string') return this.value(item);
    if (typeof before === 'string' && credentialFlag.test(before)) return this.hide(item);
    const [, flag = '', value = ''] = /^(-[^=]{0,200}=)(.+)$/s.exec(item) ?? [];
    return credentialFlag.test(flag.slice(0, -1)) ? `${flag}${String(this.hide(value))}` : this.value(item);
  }

  private field(name: string, field: unknown): unknown {
    if (headerFields.includes(name) || (contentField.test(name) && isObject(field))) return this.hide(field);
    if (variableLists.includes(name) && Array.isArray(field)) return field.map((item) => this.variable(item));
    if (name === 'annotations' && isObject(field)) {
      return this.fields(field, (key, value) => (knownAnnotation.test(key) ? this.value(value) : this.hide(value)));
    }
    const isCredential = typeof field === 'string' && credentialName.test(name) && !nameOfOther.test(name);
    return isCredential && field !== '' ? this.hide(field) : this.value(field);
  }

  /** Keeps the name of a variable, and the reference to its value. */
  private variable(item: unknown): unknown {
    if (!isObject(item)) return this.hide(item);
    return this.fields(item, (name, field) => (name === 'value' ? this.hide(field) : this.value(field)));
  }

  /** Hides every string and number below a position. Keeps the names of fields. */
  private hide(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.hide(item));
    if (isObject(value)) return this.fields(value, (_name, field) => this.hide(field));
    return typeof value === 'string' || typeof value === 'number' ? this.hides(String(value)) : value;
  }

  private fields(object: object, map: (name: string, field: unknown) => unknown): object {
    return Object.fromEntries(Object.entries(object).map(([name, field]) => [this.text(name), map(name, field)]));
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/**
 * Credentials within text: the password and the query of a URL, and an assignment. All patterns are bounded, because
 * containers write logs and may repeat a prefix endlessly.
 */
const passwordInURL = /:\/\/[^\s/:@"']{0,200}:([^\s/@"']{1,200})@/g;
const queryOfURL = /:\/\/[^\s?"']{1,400}\?([^\s"'#]{1,400})/g;
/** `PWD=/…` is the folder of a shell. */
const keyword = String.raw`(?:passw(?:or)?d|passphrase|(?:(?<=[;_-])pwd|pwd(?!=/))|secret|token|(?:api|private|access|secret|encryption|signing|master)[-_]?(?:[\w-]{0,30}[-_])?key)`;
const assigned = String.raw`${keyword}(?:\\?["'])?\s{0,4}[=:]\s{0,4}`;
/** A credential after its flag, as in a command line. A public key is not a credential. */
const flagged = String.raw`(?<![\w-])(?!--?[\w-]{0,60}(?:cosign|public)-key\b)--?[\w-]{0,60}(?:pass|passw(?:or)?d|passphrase|pwd|secret|token|key)[ \t]{1,4}`;
/** Quoted text after its start, which may be cut off. Within a JSON string, the quotes are escaped. */
const quoted = String.raw`(?<quote>\\?["'])(?!<hidden>\k<quote>)(?<value>(?:(?!\k<quote>)(?:\\.|[^\n\\]))+)`;
const bare = String.raw`(?!<hidden>|-)(?<value>[^\s"',}\\]+)`;
const quotedCredential = new RegExp(`(?<before>${assigned}|${flagged})${quoted}`, 'gi');
const flaggedCredential = new RegExp(`(?<before>${flagged})${bare}`, 'gi');
const assignment = new RegExp(String.raw`(?<before>${assigned}["']?)(?!<hidden>|\\?["'])(?<value>[^\s"',}]+)`, 'gi');

/** Patterns of credentials in text, with their replacements. */
const patterns: readonly [RegExp, string][] = [
  [/-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|$)/g, hidden],
  [/(:\/\/)[^\s/@"']{1,400}@/g, `$1${hidden}@`],
  [/(:\/\/[^\s?"']{1,400}\?)[^\s"']+/g, `$1${hidden}`],
  [/(\b(?:Bearer|Basic)\s{1,4})[\w.~+/=-]{4,}/gi, `$1${hidden}`],
  [/(\b(?:authorization|cookie)["']?\s{0,4}[:=]\s{0,4}["']?)[^\n"']+/gi, `$1${hidden}`],
  [quotedCredential, `$<before>$<quote>${hidden}`],
  [flaggedCredential, `$<before>${hidden}`],
  [assignment, `$<before>${hidden}`],
];

/** Shorter words match others by chance. */
const minLength = 4;

/** Shorter numbers match statistics by chance. */
const minDigits = 8;

/**
 * Hides the secrets of these parts in all of them, so that a password from a manifest is hidden in the log too.
 */
export function partRedaction(parts: readonly Part[], secrets: SecretValues): (part: Part) => string {
  secrets.set('support bundle', secretsIn(parts));
  const text = (one: string): string =>
    patterns.reduce((result, [pattern, replacement]) => result.replaceAll(pattern, replacement), secrets.hide(one));
  const redaction = new Redaction({ text, hides: () => hidden });
  return ({ content }) =>
    'text' in content ? text(content.text) : `${JSON.stringify(redaction.value(content.json), undefined, 2)}\n`;
}

function secretsIn(parts: readonly Part[]): Set<string> {
  const values = new Set<string>();
  const addSecret = (value: string): void => {
    if (/^[\d.]*$/.test(value) && value.length < minDigits) return;
    // The second word of `Bearer …` is repeated elsewhere.
    for (const form of [value, value.replace(/^(?:Bearer|Basic) /i, ''), decodedText(value)]) values.add(form);
  };
  const redaction = new Redaction({
    text: (text) => {
      for (const value of credentialsIn(text)) addSecret(value);
      return text;
    },
    hides: (value) => {
      addSecret(value);
      // The copy of a manifest in an annotation.
      if (value.startsWith('{')) redaction.value(parsed(value));
      return hidden;
    },
  });
  for (const { content } of parts) if ('json' in content) redaction.value(content.json);
  return values;
}

function credentialsIn(text: string): string[] {
  const found = (pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, value = '']) => value);
  const queries = found(queryOfURL).flatMap((query) => [...new URLSearchParams(query).values()]);
  const named = [quotedCredential, flaggedCredential, assignment].flatMap((pattern) =>
    [...text.matchAll(pattern)].map(({ groups }) => groups?.['value'] ?? ''),
  );
  return [...found(passwordInURL), ...queries, ...named.filter(({ length }) => length >= minLength)];
}

/** Decodes Secret data, because programs print the decoded value. Returns any other text unchanged. */
function decodedText(value: string): string {
  const decoded = Buffer.from(value, 'base64');
  return decoded.toString('base64') === value.trim() ? decoded.toString('utf8') : value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON, so the whole text is hidden.
    return undefined;
  }
}
