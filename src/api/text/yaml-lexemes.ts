import { CST, Lexer } from 'yaml';

/**
 * Splits a YAML text into lexemes, as the lexer of `yaml` does, with two corrections inside brackets, where Kubernetes
 * follows YAML 1.1. A ":" ends a plain scalar only before white space: `[a, b:]` is a list of two texts. A "-" starts
 * an item only before white space: `[cat, -]` contains a text of one character.
 *
 * sigs.k8s.io/yaml: goyaml.v2 scannerc.go yaml_parser_scan_plain_scalar
 */
export function yamlLexemes(text: string): Iterable<string> {
  const lexemes = new Lexer().lex(text);
  return markBeforeBracket.test(text) ? withMarksInBrackets(lexemes, text) : lexemes;
}

const markBeforeBracket = /[:-][,[\]{}]/;

function* withMarksInBrackets(lexemes: Iterable<string>, text: string): Generator<string> {
  let offset = 0;
  let depth = 0;
  let isScalar = false;
  /** A plain scalar inside brackets with the white space after it. A ":" may continue it. */
  let held: PlainScalar | undefined;
  for (const lexeme of lexemes) {
    const isSource = isScalar;
    isScalar = lexeme === CST.SCALAR;
    if (isScalar) continue;
    const isMark = depth > 0 && !isBlank(text.charAt(offset + lexeme.length));
    offset += widthOf(lexeme);
    if (isSource) {
      // An empty lexeme may follow a mark that was joined to the text; it is dropped.
      if (held && lexeme === '') continue;
      if (held) yield* release(held);
      held = { source: lexeme, space: [] };
      if (depth > 0) continue;
    } else if (held && lexeme === ':' && isMark) {
      held = { source: [held.source, ...held.space, ':'].join(''), space: [] };
      continue;
    } else if (held && isBlank(lexeme.charAt(0))) {
      held.space.push(lexeme);
      continue;
    } else if (!held && lexeme === '-' && isMark) {
      held = { source: lexeme, space: [] };
      continue;
    }
    if (held) yield* release(held);
    held = undefined;
    if (isSource) continue;
    yield lexeme;
    depth = lexeme === CST.FLOW_END ? 0 : depth + depthChange(lexeme);
  }
  if (held) yield* release(held);
}

interface PlainScalar {
  source: string;
  space: string[];
}

function* release({ source, space }: PlainScalar): Generator<string> {
  yield CST.SCALAR;
  yield source;
  yield* space;
}

function isBlank(character: string): boolean {
  return character === '' || /\s/.test(character);
}

/** Width of a lexeme in the text. The lexer's marks for a document start and a missing bracket have none. */
function widthOf(lexeme: string): number {
  return lexeme === CST.DOCUMENT || lexeme === CST.FLOW_END ? 0 : lexeme.length;
}

function depthChange(lexeme: string): number {
  if (lexeme === '[' || lexeme === '{') return 1;
  return lexeme === ']' || lexeme === '}' ? -1 : 0;
}
