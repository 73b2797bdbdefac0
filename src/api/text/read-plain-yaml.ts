import {
  COLLECTION_STYLE,
  type Event,
  EVENT_ID,
  getScalarValue,
  type MappingEvent,
  parseEvents,
  SCALAR_STYLE,
  type ScalarEvent,
} from 'js-yaml';
import type { ManifestContent, ManifestNode, ManifestNote } from './manifest-node.ts';
import type { ReadingBudget } from './reading-budget.ts';
import { resolveYamlScalar } from './resolve-yaml-scalar.ts';
import { EntryList } from './yaml-entries.ts';

/**
 * Reads a single document of common YAML, several times as fast as the exact reader. Any result is the same as that of
 * the exact reader. Returns undefined if the two readers could differ, or if anything is wrong with the text.
 */
export function readPlainYaml(text: string, budget: ReadingBudget): ManifestContent | undefined {
  if (text.length > maxPlainLength || text.startsWith(' ')) return undefined;
  // Skips empty documents quickly, because a text may have very many of them.
  if (!text.includes(':')) return undefined;
  if (unusualCharacter.test(text) || unusualMark.test(text)) return undefined;
  const events = tryParsing(text);
  if (!events) return undefined;
  const composer = new PlainComposer(text, events);
  const root = composer.document();
  return root && budget.takeValues(composer.valueCount) ? { root, notes: composer.notes } : undefined;
}

function tryParsing(text: string): readonly Event[] | undefined {
  try {
    return parseEvents(text, { maxDepth: maxPlainDepth });
  } catch {
    // The exact reader reports the error.
    return undefined;
  }
}

/** A text of this length cannot exceed the exact reader's token limit. */
const maxPlainLength = 200_000;

const maxPlainDepth = 100;

/** Matches tabs, control characters, byte order marks, and line breaks of YAML 1.1 only. */
const unusualCharacter = /[^\n -~\u00A0-\uFEFE\uFF00-\uFFFD]/;

/**
 * Matches anchors, tags, explicit keys, directives and document ends. A false match, as in a script, only costs the
 * time of the exact reader. The look-behind comes after the mark because marks are rare.
 */
const unusualMark = /[&!](?<=(?:^|[-?:]) *.)|\?(?<=(?:^|[-?:,[{]) *.)(?: |$)|[%.](?<=^.)/m;

/** Composes values from parser events. An undefined value means: the exact reader has to read the text. */
class PlainComposer {
  readonly notes: ManifestNote[] = [];
  readonly #text: string;
  readonly #events: readonly Event[];
  #at = 0;
  #valueCount = 0;
  /** Number of open brackets. */
  #flowDepth = 0;

  constructor(text: string, events: readonly Event[]) {
    this.#text = text;
    this.#events = events;
  }

  get valueCount(): number {
    return this.#valueCount;
  }

  document(): ManifestNode | undefined {
    const [first, second] = this.#events;
    if (first?.type !== EVENT_ID.DOCUMENT || second?.type !== EVENT_ID.MAPPING) return undefined;
    this.#at++;
    const root = this.#value();
    // Further events mean a second document.
    return this.#at === this.#events.length - 1 ? root : undefined;
  }

  #value(): ManifestNode | undefined {
    const event = this.#events[this.#at++];
    this.#valueCount++;
    switch (event?.type) {
      case EVENT_ID.SCALAR:
        return hasProperties(event) ? undefined : this.#scalar(event);
      case EVENT_ID.SEQUENCE:
        return hasProperties(event) ? undefined : this.#inside(event, () => this.#sequence(event.start));
      case EVENT_ID.MAPPING:
        return hasProperties(event) ? undefined : this.#inside(event, () => this.#mapping(event));
      case EVENT_ID.ALIAS:
      case EVENT_ID.DOCUMENT:
      case EVENT_ID.POP:
      case undefined:
        return undefined;
    }
  }

  #inside({ style }: { style: number }, read: () => ManifestNode | undefined): ManifestNode | undefined {
    const depth = style === COLLECTION_STYLE.FLOW ? 1 : 0;
    this.#flowDepth += depth;
    const node = read();
    this.#flowDepth -= depth;
    return node;
  }

  #sequence(start: number): ManifestNode | undefined {
    const items: ManifestNode[] = [];
    while (!this.#isAtEnd()) {
      const item = this.#value();
      if (!item) return undefined;
      items.push(item);
    }
    this.#at++;
    return { start, kind: 'list', items };
  }

  #mapping({ start, style }: MappingEvent): ManifestNode | undefined {
    const entries = new EntryList(this.notes);
    while (!this.#isAtEnd()) {
      const keyEvent = this.#events[this.#at];
      if (this.#flowDepth > 0 && keyEvent?.type === EVENT_ID.SCALAR && !this.#endsWithColon(keyEvent)) return undefined;
      const key = this.#value();
      // A key that is not a string has a text form of its own, and "<<" merges.
      if (key?.kind !== 'string' || key.value === '<<') return undefined;
      // The parser accepts "- {} a: b" as a list item followed by a key.
      if (style === COLLECTION_STYLE.BLOCK && key.start > start && !this.#startsLine(key.start)) return undefined;
      const value = this.#value();
      if (!value) return undefined;
      entries.add({ key: key.value, keyStart: key.start, value });
    }
    this.#at++;
    return { start, kind: 'object', entries: entries.list };
  }

  #scalar(event: ScalarEvent): ManifestNode | undefined {
    const { style, valueStart } = event;
    // The parser reports no place for an empty value.
    if (valueStart < 0 || isDoubtful(event, this.#text)) return undefined;
    const value = getScalarValue(this.#text, event);
    switch (style) {
      case SCALAR_STYLE.PLAIN: {
        if (this.#flowDepth > 0 && /^:|\?/.test(value)) return undefined;
        const resolved = resolveYamlScalar(value);
        return resolved.kind === 'notFinite' ? undefined : { start: valueStart, ...resolved };
      }
      case SCALAR_STYLE.SINGLE_QUOTED:
      case SCALAR_STYLE.DOUBLE_QUOTED:
        return { start: valueStart - 1, kind: 'string', value };
      case SCALAR_STYLE.LITERAL_BLOCK:
      case SCALAR_STYLE.FOLDED_BLOCK: {
        const start = this.#blockScalarStart(valueStart);
        return start === undefined ? undefined : { start, kind: 'string', value };
      }
    }
  }

  /** In YAML 1.1, a plain key inside brackets needs white space after its ":". */
  #endsWithColon({ style, valueEnd }: ScalarEvent): boolean {
    return style !== SCALAR_STYLE.PLAIN || /^\s*:\s/.test(this.#text.slice(valueEnd, valueEnd + 100));
  }

  /** Offset of the `|` or `>` that starts a block scalar. */
  #blockScalarStart(valueStart: number): number | undefined {
    const headerEnd = this.#text.charAt(valueStart - 1) === '\n' ? valueStart - 1 : valueStart;
    const headerLine = this.#text.slice(this.#text.lastIndexOf('\n', headerEnd - 1) + 1, headerEnd);
    const header = /[|>][-+0-9]* *$/.exec(headerLine);
    // A comment on that line may contain the same marks.
    return header && !headerLine.includes('#') ? headerEnd - headerLine.length + header.index : undefined;
  }

  #startsLine(start: number): boolean {
    let at = start - 1;
    while (this.#text.charAt(at) === ' ') at--;
    return this.#text.charAt(at) === '\n';
  }

  #isAtEnd(): boolean {
    return this.#events[this.#at]?.type === EVENT_ID.POP;
  }
}

function hasProperties({ anchorStart, tagStart }: { anchorStart: number; tagStart: number }): boolean {
  return anchorStart >= 0 || tagStart >= 0;
}

/**
 * True for scalars that the readers could see differently: quotes with escaped line breaks or eight-digit escapes, and
 * blocks with blanks on empty lines.
 */
function isDoubtful({ style, fast, valueStart, valueEnd }: ScalarEvent, text: string): boolean {
  if (style === SCALAR_STYLE.DOUBLE_QUOTED) return !fast && /\\[\nU]/.test(text.slice(valueStart, valueEnd));
  return style >= SCALAR_STYLE.LITERAL_BLOCK && /^ +$/m.test(text.slice(valueStart, valueEnd));
}
