/** JSON values whose objects keep the order of their members, and may have one name twice. */
export type ValueTree = null | boolean | number | string | ValueTree[] | MemberList;

export class MemberList {
  readonly members: [name: string, value: ValueTree][];

  constructor(members: [name: string, value: ValueTree][]) {
    this.members = members;
  }
}

/** The tree of a JSON value; members that are undefined are left out. */
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

/** JSON in one line. */
export function printJson(tree: ValueTree): string {
  if (Array.isArray(tree)) return `[${tree.map(printJson).join(',')}]`;
  if (tree instanceof MemberList) {
    return `{${tree.members.map(([name, value]) => `${JSON.stringify(name)}:${printJson(value)}`).join(',')}}`;
  }
  return JSON.stringify(tree);
}

/** YAML with brackets and braces. */
export function printYamlFlow(tree: ValueTree): string {
  // A text that starts with a brace would be read as JSON.
  return `---\n${flow(tree)}\n`;
}

function flow(tree: ValueTree): string {
  if (Array.isArray(tree)) return `[${tree.map(flow).join(', ')}]`;
  if (tree instanceof MemberList)
    return `{ ${tree.members.map(([name, value]) => `${scalar(name)}: ${flow(value)}`).join(', ')} }`;
  return scalar(tree);
}

/** YAML with indentation. */
export function printYamlBlock(tree: ValueTree): string {
  return `${block(tree, '')}\n`;
}

/** The text of a value behind `key:` or `-`, which stands on lines of its own unless it is a scalar. */
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

/** Plain where a word can mean nothing else, else in double quotes, whose escapes JSON and YAML share. */
function scalar(value: null | boolean | number | string): string {
  if (typeof value !== 'string') return String(value);
  return /^[a-zA-Z/][a-zA-Z0-9/._-]*$/.test(value) && !ambiguousWords.test(value) ? value : quoted(value);
}

const ambiguousWords = /^(?:y|n|yes|no|on|off|true|false|null)$/i;

/** JSON leaves alone what YAML forbids or breaks lines at. */
function quoted(value: string): string {
  return JSON.stringify(value).replaceAll(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
