import {
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type Node,
  type Pair,
  Parser,
  Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { decodeBase64 } from './base64.ts';
import { indentContinuations } from './indent-continuations.ts';
import {
  type ManifestEntry,
  type ManifestNode,
  type ManifestNote,
  ManifestSyntaxError,
  maxNestingDepth,
} from './manifest-node.ts';
import { resolveYamlScalar, yamlNumberAsKey } from './resolve-yaml-scalar.ts';

/**
 * Reads the first document of a YAML text as the JSON the kubelet makes of it: YAML 1.1 scalars, merge keys in the order
 * they are written, the last of repeated keys, scalars as keys. Anchors cost no more than the kubelet allows.
 *
 * sigs.k8s.io/yaml: YAMLToJSON
 */
export function readYaml(text: string): { root: ManifestNode; notes: ManifestNote[] } {
  refuseControlCharacters(text);
  const written = withPlainLineBreaks(text);
  const document = firstDocument(written);
  const error = document.errors[0];
  if (!error) return new YamlReader(document, (offset) => offset).read();
  const indented = indentContinuations(written);
  if (indented) {
    const indentedDocument = firstDocument(indented.text);
    if (indentedDocument.errors.length === 0) {
      return new YamlReader(indentedDocument, indented.toOriginalOffset).read();
    }
  }
  throw new ManifestSyntaxError(error.message, error.pos[0], hintFor(error.code));
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

/**
 * YAML 1.1 also breaks lines at a lone CR and at NEL, which the parser does not know. Within quotes such a break is folded
 * into a space. Offsets stay the same.
 */
function withPlainLineBreaks(text: string): string {
  return text
    .replaceAll(/\r(?!\n)/g, '\n')
    .replaceAll(/"[^"\n]*"/g, (quoted) => quoted.replaceAll('\u0085', ' '))
    .replaceAll('\u0085', '\n');
}

function firstDocument(text: string): Document.Parsed {
  const composer = new Composer({
    version: '1.1',
    schema: 'failsafe',
    merge: false,
    resolveKnownTags: false,
    uniqueKeys: false,
    strict: false,
  });
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    for (const document of composed(composer, parser.next(lexeme))) return document;
    // The composer recurses into what the parser nests.
    if (parser.stack.length > maxNestingDepth) {
      throw new ManifestSyntaxError('YAML is nested too deeply', Math.max(0, parser.offset - 1));
    }
  }
  for (const document of composed(composer, parser.end())) return document;
  for (const document of composer.end(true, text.length)) return document;
  throw new ManifestSyntaxError('The text holds no YAML document', 0);
}

function* composed(composer: Composer, tokens: ReturnType<Parser['next']>): ReturnType<Composer['next']> {
  for (const token of tokens) yield* composer.next(token);
}

function hintFor(code: string): string | undefined {
  switch (code) {
    case 'TAB_AS_INDENT':
      return 'Indent with spaces; YAML allows no tabs there.';
    case 'MISSING_CHAR':
    case 'BAD_INDENT':
      return 'Check the indentation and the quotes on this line and the one before.';
    default:
      return undefined;
  }
}

/** More notes than this help nobody. */
const maxNotes = 50;

type ObjectNode = Extract<ManifestNode, { kind: 'object' }>;

class YamlReader {
  readonly #document: Document.Parsed;
  readonly #toOriginalOffset: (offset: number) => number;
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  readonly #notes: ManifestNote[] = [];
  #nodesRead = 0;
  #aliasedNodesRead = 0;
  #aliasDepth = 0;

  constructor(document: Document.Parsed, toOriginalOffset: (offset: number) => number) {
    this.#document = document;
    this.#toOriginalOffset = toOriginalOffset;
  }

  read(): { root: ManifestNode; notes: ManifestNote[] } {
    const { contents, directives } = this.#document;
    if (directives.yaml.explicit && directives.yaml.version !== '1.1') {
      throw new ManifestSyntaxError(`YAML ${directives.yaml.version} is not supported`, 0, 'Remove the %YAML line.');
    }
    const root: ManifestNode = contents ? this.#node(contents, 0) : { kind: 'null', start: 0 };
    return { root, notes: this.#notes };
  }

  #node(node: Node, depth: number): ManifestNode {
    this.#countNode(node);
    if (depth > maxNestingDepth) throw new ManifestSyntaxError('YAML is nested too deeply', this.#startOf(node));
    if (isAlias(node)) return this.#aliased(node, (target) => this.#node(target, depth + 1));
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (isMap(node)) {
      const object: ObjectNode = { start: this.#startOf(node), kind: 'object', entries: [] };
      this.#fill(object, new Map(), node, depth);
      return object;
    }
    if (isSeq(node)) return this.#list(node, depth);
    return this.#scalar(node);
  }

  #list(node: YAMLSeq, depth: number): ManifestNode {
    this.#open.add(node);
    const items = node.items.map((item) => this.#node(item as Node, depth + 1));
    this.#open.delete(node);
    return { start: this.#startOf(node), kind: 'list', items };
  }

  /** Sets the members of a mapping, and of the mappings it merges, in the order they stand. */
  #fill(object: ObjectNode, places: Map<string, number>, node: YAMLMap, depth: number): void {
    this.#open.add(node);
    const seen = new Set<string>();
    for (const pair of node.items as Pair<Node | null, Node | null>[]) {
      if (isMergeKey(pair.key)) {
        this.#merge(object, places, pair.value, this.#startOf(pair.key), depth);
        continue;
      }
      const keyStart = pair.key ? this.#startOf(pair.key) : this.#startOf(node);
      const key = this.#key(pair.key, keyStart, depth);
      const value: ManifestNode = pair.value
        ? this.#node(pair.value, depth + 1)
        : { kind: 'null', start: pair.key ? this.#endOf(pair.key) : keyStart };
      if (seen.has(key) && this.#notes.length < maxNotes) this.#noteRepeatedKey(key, keyStart);
      seen.add(key);
      setEntry(object, places, { key, keyStart, value });
    }
    this.#open.delete(node);
  }

  #merge(object: ObjectNode, places: Map<string, number>, value: Node | null, start: number, depth: number): void {
    if (value) this.#countNode(value);
    if (isAlias(value)) {
      this.#aliased(value, (target) => {
        if (!isMap(target)) throw mergeError(start);
        this.#fill(object, places, target, depth + 1);
      });
    } else if (isMap(value)) {
      this.#fill(object, places, value, depth + 1);
    } else if (isSeq(value)) {
      // The first mapping of the list wins, so it is merged last.
      for (const item of value.items.toReversed() as Node[]) {
        if (isSeq(item)) throw mergeError(start);
        this.#merge(object, places, item, start, depth);
      }
    } else {
      throw mergeError(start);
    }
  }

  #key(node: Node | null, start: number, depth: number): string {
    const key: ManifestNode = node ? this.#node(node, depth + 1) : { kind: 'null', start };
    switch (key.kind) {
      case 'string':
        return key.value;
      case 'bool':
        return String(key.value);
      case 'number':
        return yamlNumberAsKey(key.text);
      case 'null':
        throw new ManifestSyntaxError('A key may not be empty or null', start, 'Put the key in quotes.');
      case 'list':
      case 'object':
        throw new ManifestSyntaxError(
          'A list or a mapping cannot be a key',
          start,
          'Was this a template? Fill in its {{ … }} parts before giving it to the kubelet.',
        );
    }
  }

  #aliased<T>(alias: Node & { source: string }, use: (target: Node) => T): T {
    const target = this.#anchors.get(alias.source);
    if (!target) {
      throw new ManifestSyntaxError(`Anchor "${alias.source}" is not defined above`, this.#startOf(alias));
    }
    if (this.#open.has(target)) {
      throw new ManifestSyntaxError(`Anchor "${alias.source}" contains itself`, this.#startOf(alias));
    }
    this.#aliasDepth++;
    const result = use(target);
    this.#aliasDepth--;
    return result;
  }

  /** Bounds what anchors can blow a small file up to, by the kubelet's figures. goyaml.v2: decode.go allowedAliasRatio */
  #countNode(node: Node): void {
    this.#nodesRead++;
    if (this.#aliasDepth > 0) this.#aliasedNodesRead++;
    if (this.#aliasedNodesRead <= 100 || this.#nodesRead <= 1000) return;
    const position = Math.min(1, Math.max(0, (this.#nodesRead - 400_000) / 3_600_000));
    if (this.#aliasedNodesRead / this.#nodesRead > 0.99 - 0.89 * position) {
      throw new ManifestSyntaxError(
        'The document uses anchors excessively',
        this.#startOf(node),
        'Write the values out.',
      );
    }
  }

  #scalar(node: Scalar): ManifestNode {
    const start = this.#startOf(node);
    const text = typeof node.value === 'string' ? node.value : (node.source ?? '');
    const resolved = resolveTagged(node, text, start);
    if (resolved.kind === 'notFinite') {
      throw new ManifestSyntaxError(`JSON has no ${resolved.text}`, start, 'Put it in quotes if it is text.');
    }
    return { start, ...resolved };
  }

  #noteRepeatedKey(key: string, start: number): void {
    this.#notes.push({
      start,
      message: `Key "${key}" is written more than once; the last one counts`,
      hint: 'Remove the others.',
    });
  }

  #startOf(node: Node): number {
    return this.#toOriginalOffset(node.range?.[0] ?? 0);
  }

  #endOf(node: Node): number {
    return this.#toOriginalOffset(node.range?.[1] ?? 0);
  }
}

const standardTags = 'tag:yaml.org,2002:';
const kindsByTag: Readonly<Record<string, readonly string[]>> = {
  bool: ['bool'],
  int: ['number'],
  float: ['number', 'notFinite'],
  null: ['null'],
};

function resolveTagged(node: Scalar, text: string, start: number): ReturnType<typeof resolveYamlScalar> {
  const isPlain = node.type === Scalar.PLAIN || node.type === undefined;
  if (node.tag === undefined) return isPlain ? resolveYamlScalar(text) : { kind: 'string', value: text };
  if (node.tag === '!') return resolveYamlScalar(text);
  const tag = node.tag.startsWith(standardTags) ? node.tag.slice(standardTags.length) : '';
  if (tag === 'binary') return { kind: 'string', value: decodeBinary(text, start) };
  const kinds = kindsByTag[tag];
  if (!kinds) return { kind: 'string', value: text };
  const resolved = resolveYamlScalar(text);
  if (kinds.includes(resolved.kind) && !(tag === 'int' && 'text' in resolved && !/^-?[0-9]+$/.test(resolved.text))) {
    return resolved;
  }
  // The value is not told: it may be a secret.
  throw new ManifestSyntaxError(`The value is not what its tag !!${tag} says`, start);
}

function decodeBinary(text: string, start: number): string {
  const bytes = decodeBase64(text);
  if (!bytes) throw new ManifestSyntaxError('!!binary value is no valid base64', start);
  return new TextDecoder().decode(bytes);
}

function setEntry(object: ObjectNode, places: Map<string, number>, entry: ManifestEntry): void {
  const place = places.get(entry.key);
  if (place === undefined) {
    places.set(entry.key, object.entries.length);
    object.entries.push(entry);
  } else {
    object.entries[place] = entry;
  }
}

function isMergeKey(key: Node | null): key is Scalar {
  return (
    isScalar(key) &&
    key.value === '<<' &&
    (key.tag === undefined ? key.type === Scalar.PLAIN : key.tag.endsWith('merge'))
  );
}

function mergeError(start: number): ManifestSyntaxError {
  return new ManifestSyntaxError('The value of a merge key "<<" must be a mapping or a list of mappings', start);
}
