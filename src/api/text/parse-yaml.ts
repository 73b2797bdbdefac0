import { Composer, CST, type Document, Lexer, Parser, visit, type YAMLError } from 'yaml';
import { ManifestLimitError, ManifestSyntaxError, maxNestingDepth } from './manifest-node.ts';
import type { ReadingBudget } from './reading-budget.ts';

/** Scalars stay strings: `resolveYamlScalar` gives them the types that the kubelet's YAML reader gives them. */
const options = {
  version: '1.1',
  schema: 'failsafe',
  resolveKnownTags: false,
  merge: false,
  uniqueKeys: false,
  prettyErrors: false,
} as const;

/**
 * Parses the first document of a YAML text and ignores the rest. Throws a ManifestSyntaxError for the first mistake, a
 * ManifestLimitError if a limit is exceeded.
 */
export function parseYaml(text: string, budget: ReadingBudget): Document.Parsed | undefined {
  refuseControlCharacters(text);
  // In YAML 1.1 a lone carriage return also ends a line.
  const document = firstDocument(text.replaceAll(/\r(?!\n)/g, '\n'), budget);
  if (!document) return undefined;
  const error = document.errors[0] ?? document.warnings.find(({ code }) => code === 'BAD_DIRECTIVE');
  if (error) throw syntaxError(text, document, error);
  const { explicit, version } = document.directives.yaml;
  if (explicit && version !== '1.1') {
    const start = Math.max(0, text.search(/^%YAML/m));
    throw new ManifestSyntaxError(`%YAML ${version} is not supported`, start, 'Remove the %YAML line.');
  }
  return document;
}

function firstDocument(text: string, budget: ReadingBudget): Document.Parsed | undefined {
  const parser = new Parser();
  const composer = new Composer(options);
  let isScalar = false;
  for (const lexeme of new Lexer().lex(text)) {
    budget.countToken(parser.offset);
    // Comments are dropped: the time of the parser grows with the product of comments and blank lines in a row.
    if (!isScalar && lexeme.startsWith('#')) {
      parser.offset += lexeme.length;
      continue;
    }
    isScalar = lexeme === CST.SCALAR;
    for (const token of parser.next(lexeme)) for (const document of composer.next(token)) return document;
    if (parser.stack.length > maxNestingDepth) {
      throw new ManifestLimitError('YAML is nested too deeply', Math.max(0, parser.offset - 1));
    }
  }
  for (const token of parser.end()) for (const document of composer.next(token)) return document;
  for (const document of composer.end(true, text.length)) return document;
  return undefined;
}

function refuseControlCharacters(text: string): void {
  // eslint-disable-next-line no-control-regex -- the characters YAML forbids
  const found = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u0084\u0086-\u009f\ufffe\uffff]/.exec(text);
  if (!found) return;
  const code = found[0].charCodeAt(0).toString(16).padStart(4, '0').toUpperCase();
  throw new ManifestSyntaxError(
    `Control character U+${code} is not allowed in YAML`,
    found.index,
    'Remove it, or write it as an escape in double quotes.',
  );
}

/** Messages that are clearer than those of the library, and hints, by the code of the mistake. */
const reports: Readonly<Partial<Record<YAMLError['code'], { message?: string; hint?: string }>>> = {
  BAD_DIRECTIVE: { hint: 'Remove this line.' },
  BAD_DQ_ESCAPE: {
    hint: "Inside double quotes write \\\\ for a backslash and ' for a single quote, or use single quotes.",
  },
  BAD_SCALAR_START: { hint: 'Put the whole value in quotes.' },
  BLOCK_IN_FLOW: { message: 'Inside brackets, lists and mappings are written with brackets too' },
  MULTILINE_IMPLICIT_KEY: { message: 'A key must stand on one line' },
  TAB_AS_INDENT: { message: 'A tab is not indentation', hint: 'Indent with spaces; YAML allows no tabs there.' },
  // The library quotes the tag, which may be a password that starts with an exclamation mark.
  TAG_RESOLVE_FAILED: { message: 'The tag is not known', hint: 'Remove the tag, or quote the value.' },
};

/** Lines of a plain value, and the blanks before a key on the next line. */
const linesAboveKey = /(?:(?!.*:(?:\s|$)).*\n)+[ ]*/y;

function syntaxError(text: string, document: Document.Parsed, error: YAMLError): ManifestSyntaxError {
  const { code, message, pos } = error;
  const [start] = pos;
  if (message.startsWith('Missing closing')) {
    const opening = startOfQuote(document, start);
    const hint = 'Close the quote. Indent its other lines more than the key before it.';
    return new ManifestSyntaxError('The quote that begins here has no end', opening, hint);
  }
  const [, bracket] = /end with a ([\]}])$/.exec(message) ?? [];
  if (bracket !== undefined) {
    const hint = 'Close the bracket. Indent the lines inside it more than the key before it.';
    return new ManifestSyntaxError(`"${bracket}" is missing`, start, hint);
  }
  if (message.startsWith('Nested mappings')) {
    linesAboveKey.lastIndex = start;
    const [above = ''] = linesAboveKey.exec(text) ?? [];
    if (above === '')
      return new ManifestSyntaxError('A mapping cannot start on the line of its key', start, indentHint);
    const hint = 'Start it at the column of the key above, or remove the value above.';
    return new ManifestSyntaxError('This key is indented more than the key above it', start + above.length, hint);
  }
  const report = reports[code];
  // The library quotes text that may be a secret.
  const words = message.replace(/(?:(?<=\w): |(?<=escape sequence )).*$/s, '').trim();
  return new ManifestSyntaxError(report?.message ?? words, start, report?.hint ?? indentHint);
}

const indentHint = 'Check the indentation and the quotes on this line and the one before.';

/** Where the quoted text starts that is still open at `end`. */
function startOfQuote(document: Document.Parsed, end: number): number {
  let start = end;
  visit(document, {
    Scalar: (_key, { range }) => {
      if (range && range[0] < end && range[1] >= end) start = range[0];
    },
  });
  return start;
}
