import { CST, Lexer } from 'yaml';

/**
 * The pieces that a YAML text is made of, as the lexer of `yaml` cuts it, but for two marks inside brackets, which
 * Kubernetes reads by the rules of YAML 1.1. A ":" behind a plain scalar ends it only before white space: `[a, b:]` is a list
 * of two texts. A "-" starts an item only before white space: `[cat, -]` has a text of one character.
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
  /** A plain scalar inside brackets and the white space behind it, which a ":" may continue. */
  let held: PlainScalar | undefined;
  for (const lexeme of lexemes) {
    const isSource = isScalar;
    isScalar = lexeme === CST.SCALAR;
    if (isScalar) continue;
    const isMark = depth > 0 && !isBlank(text.charAt(offset + lexeme.length));
    offset += widthOf(lexeme);
    if (isSource) {
      // Nothing stands between a mark that was taken for text and the bracket or comma behind it.
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

/** The lexer marks the start of a document and the untimely end of brackets with characters that are not in the text. */
function widthOf(lexeme: string): number {
  return lexeme === CST.DOCUMENT || lexeme === CST.FLOW_END ? 0 : lexeme.length;
}

function depthChange(lexeme: string): number {
  if (lexeme === '[' || lexeme === '{') return 1;
  return lexeme === ']' || lexeme === '}' ? -1 : 0;
}
