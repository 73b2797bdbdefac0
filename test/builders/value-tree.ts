/** JSON values whose objects keep the order of their members and may contain the same name twice. */
export type ValueTree = null | boolean | number | string | ValueTree[] | MemberList;

export class MemberList {
  readonly members: [name: string, value: ValueTree][];

  constructor(members: [name: string, value: ValueTree][]) {
    this.members = members;
  }
}

/** Returns the tree of a JSON value, without members that are undefined. */
export function toTree(value: unknown): ValueTree {
  if (Array.isArray(value)) return value.map(toTree);
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return new MemberList(members.map(([name, member]) => [name, toTree(member)]));
  }
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return value;
  throw new Error(`${typeof value} is no JSON value`);
}

/** Prints JSON on one line. */
export function printJson(tree: ValueTree): string {
  if (Array.isArray(tree)) return `[${tree.map(printJson).join(',')}]`;
  if (tree instanceof MemberList) {
    return `{${tree.members.map(([name, value]) => `${JSON.stringify(name)}:${printJson(value)}`).join(',')}}`;
  }
  return JSON.stringify(tree);
}

/** Prints YAML with brackets and braces. */
export function printYamlFlow(tree: ValueTree): string {
  // A document that starts with a brace would be parsed as JSON.
  return `---\n${flow(tree)}\n`;
}

function flow(tree: ValueTree): string {
  if (Array.isArray(tree)) return `[${tree.map(flow).join(', ')}]`;
  if (tree instanceof MemberList)
    return `{ ${tree.members.map(([name, value]) => `${scalar(name)}: ${flow(value)}`).join(', ')} }`;
  return scalar(tree);
}

/** Prints YAML with indentation. */
export function printYamlBlock(tree: ValueTree): string {
  return `${block(tree, '')}\n`;
}

/** Prints a value after `key:` or `-`. Anything but a scalar starts on a new line. */
function block(tree: ValueTree, indent: string): string {
  if (Array.isArray(tree)) {
    return tree.length === 0 ? '[]' : tree.map((item) => `${indent}- ${blockItem(item, indent)}`).join('\n');
  }
  if (!(tree instanceof MemberList)) return scalar(tree);
  if (tree.members.length === 0) return '{}';
  return tree.members.map(([name, value]) => `${indent}${scalar(name)}:${blockMember(value, indent)}`).join('\n');
}

function blockMember(value: ValueTree, indent: string): string {
  if (isEmptyOrScalar(value)) return ` ${block(value, '')}`;
  return `\n${block(value, Array.isArray(value) ? indent : `${indent}  `)}`;
}

function blockItem(item: ValueTree, indent: string): string {
  return isEmptyOrScalar(item) ? block(item, '') : block(item, `${indent}  `).trimStart();
}

function isEmptyOrScalar(tree: ValueTree): boolean {
  if (Array.isArray(tree)) return tree.length === 0;
  return !(tree instanceof MemberList) || tree.members.length === 0;
}

/** Prints a word plain if it can have no other meaning, else in double quotes, whose escapes JSON and YAML share. */
function scalar(value: null | boolean | number | string): string {
  if (typeof value !== 'string') return String(value);
  return /^[a-zA-Z/][a-zA-Z0-9/._-]*$/.test(value) && !ambiguousWords.test(value) ? value : quoted(value);
}

const ambiguousWords = /^(?:y|n|yes|no|on|off|true|false|null)$/i;

/** JSON does not escape some characters that YAML forbids or treats as line breaks. */
function quoted(value: string): string {
  return JSON.stringify(value).replaceAll(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
