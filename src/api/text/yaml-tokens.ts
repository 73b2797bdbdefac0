import { CST, Parser } from 'yaml';
import { ManifestLimitError, ManifestSyntaxError, maxNestingDepth } from './manifest-node.ts';
import type { ReadingBudget } from './reading-budget.ts';
import { yamlLexemes } from './yaml-lexemes.ts';

/** The parser's tokens of one document. `content` is undefined if the text has no document. */
export interface YamlDocumentTokens {
  directives: readonly CST.Directive[];
  content: CST.Document | undefined;
  /** The first token after the document that the parser could not read. */
  trailing: CST.ErrorToken | CST.SourceToken | undefined;
}

/**
 * Parses the first document of a YAML text and ignores the rest. Throws a ManifestSyntaxError for the first token that
 * the parser refuses, a ManifestLimitError if a limit is exceeded.
 */
export function parseFirstDocument(text: string, budget: ReadingBudget): YamlDocumentTokens {
  const parser = new Parser();
  const collector = new DocumentCollector();
  const comments = new CommentLines();
  for (const lexeme of yamlLexemes(text)) {
    budget.countToken(parser.offset);
    if (comments.includes(lexeme)) {
      parser.offset += lexeme.length;
      continue;
    }
    for (const token of parser.next(lexeme)) collector.take(token);
    if (parser.stack.length > maxNestingDepth) {
      throw new ManifestLimitError('YAML is nested too deeply', Math.max(0, parser.offset - 1));
    }
    if (collector.content && parser.stack[0]?.type === 'document') return collector;
  }
  for (const token of parser.end()) collector.take(token);
  return collector;
}

/** Collects the parser's tokens up to the end of the first document. */
class DocumentCollector implements YamlDocumentTokens {
  readonly directives: CST.Directive[] = [];
  content: CST.Document | undefined;
  trailing: CST.ErrorToken | CST.SourceToken | undefined;

  take(token: CST.Token): void {
    if (token.type === 'document') this.content ??= token;
    else if (token.type === 'directive') this.#takeDirective(token);
    else if (token.type === 'doc-end') this.#takeEnd(token);
    else if (token.type === 'error') this.#takeError(token);
    // Comments and blank lines around the document are dropped.
  }

  #takeDirective(token: CST.Directive): void {
    // After the document, directives belong to the next one.
    if (!this.content) this.directives.push(token);
  }

  #takeEnd(token: CST.DocumentEnd): void {
    if (!this.content) throw new ManifestSyntaxError('"..." ends a document, but there is none', token.offset);
    this.trailing ??= token.end?.find(hasContent);
  }

  #takeError(token: CST.ErrorToken): void {
    if (!this.content) throw unexpectedToken(token);
    this.trailing ??= token;
  }
}

/** Throws a ManifestSyntaxError if tokens other than white space and comments follow a value. */
export function expectNoContent(tokens: readonly CST.SourceToken[] = []): void {
  for (const token of tokens) if (hasContent(token)) throw unexpectedToken(token);
}

function hasContent({ type }: CST.SourceToken): boolean {
  return type !== 'space' && type !== 'comment' && type !== 'newline';
}

/** The error for a token in the wrong place. */
export function unexpectedToken({ offset, source }: CST.ErrorToken | CST.SourceToken): ManifestSyntaxError {
  // The message leaves out words because they may be a secret.
  const found = /^[^\w\s"']{1,3}$/.test(source) ? JSON.stringify(source) : 'text';
  return new ManifestSyntaxError(`Unexpected ${found}`, offset, indentHint);
}

/** Hint on the most common mistakes in YAML. */
export const indentHint = 'Check the indentation and the quotes on this line and the one before.';

/**
 * Finds comments on a line of their own, to drop them: the parser's time grows with the product of blank lines and
 * comments in a row.
 */
class CommentLines {
  #atLineStart = true;
  #atScalar = false;

  /** Must be called for every lexeme, in order. */
  includes(lexeme: string): boolean {
    if (this.#atScalar) {
      // A lexeme after a scalar mark is text, even if it looks like a comment.
      this.#atScalar = false;
      this.#atLineStart = false;
      return false;
    }
    switch (lexeme.charAt(0)) {
      case CST.SCALAR:
        this.#atScalar = true;
        return false;
      case '\n':
      case '\r':
        this.#atLineStart = true;
        return false;
      case ' ':
      case '\t':
        return false;
      case '#':
        return this.#atLineStart;
      default:
        this.#atLineStart = false;
        return false;
    }
  }
}
