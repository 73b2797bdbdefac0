import { ManifestSyntaxError, type ManifestNode } from '../../api/text/manifest-node.ts';
import { LineIndex } from '../../api/text/line-index.ts';
import { ReadingBudget } from '../../api/text/reading-budget.ts';
import { readYaml } from '../../api/text/read-yaml.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import { errorMessage, UserError } from '../../errors.ts';

/** Allows users and groups to do `verbs` on `resources`. */
export interface PolicyRule {
  users: readonly string[];
  groups: readonly string[];
  /** Common name of the authority that signed their client certificates. If absent, any credentials count. */
  issuer?: string;
  /** `get`, `create`, `update`, `patch`, `delete` or `*`. */
  verbs: readonly string[];
  /** Such as `nodes/metrics`, or `nodes/*`. */
  resources: readonly string[];
}

const maxBytes = 1024 * 1024;
const knownVerbs = ['get', 'create', 'update', 'patch', 'delete', '*'];
const parts = ['proxy', 'stats', 'log', 'metrics', 'checkpoint', 'configz', 'healthz', 'pods', 'spec', 'statusz', '*'];
const knownResources = parts.map((part) => `nodes/${part}`);
const fields = ['users', 'groups', 'verbs', 'resources'] as const;

/** Rejects with a `UserError` that names file, line and field. */
export async function readPolicyFile(path: string): Promise<PolicyRule[]> {
  try {
    return parsePolicy((await readRegularFile(path, maxBytes, { followLinks: true })).toString(), path);
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    throw new UserError(`the authorization policy cannot be read: ${errorMessage(cause)}`, {
      hint: 'Correct the path or the mode of the file that --authorization-policy-file names.',
      cause,
    });
  }
}

/** The rules of a YAML or JSON text `rules: [{users, groups, verbs, resources}]`. Throws a `UserError`. */
export function parsePolicy(text: string, path: string): PolicyRule[] {
  const lines = new LineIndex(text);
  const refuse = (node: { start: number }, message: string): never => {
    throw new UserError(`${path}: line ${lines.positionAt(node.start).line}: ${message}`);
  };
  const entry = (node: ManifestNode, known: readonly string[]): Map<string, ManifestNode> => {
    if (node.kind !== 'object') return refuse(node, `expected an object with ${known.join(', ')}`);
    for (const { key, keyStart } of node.entries) {
      if (!known.includes(key)) refuse({ start: keyStart }, `unknown field ${key}; known: ${known.join(', ')}`);
    }
    return new Map(node.entries.map(({ key, value }) => [key, value]));
  };
  const list = (node: ManifestNode | undefined, name: string): readonly ManifestNode[] => {
    if (node === undefined) return [];
    return node.kind === 'list' ? node.items : refuse(node, `${name} must be a list`);
  };
  const words = (node: ManifestNode | undefined, name: string, known?: readonly string[]): string[] =>
    list(node, name).map((item) => {
      if (item.kind !== 'string') return refuse(item, `${name} must be strings`);
      if (known?.includes(item.value) === false) {
        refuse(item, `unknown ${name} ${JSON.stringify(item.value)}; known: ${known.join(', ')}`);
      }
      return item.value;
    });
  let content;
  try {
    content = readYaml(text, new ReadingBudget());
  } catch (error) {
    if (!(error instanceof ManifestSyntaxError)) throw error;
    return refuse(error, error.message);
  }
  const rules = list(entry(content.root, ['rules']).get('rules'), 'rules');
  return rules.map((node) => {
    const given = entry(node, fields);
    const rule = {
      users: words(given.get('users'), 'users'),
      groups: words(given.get('groups'), 'groups'),
      verbs: words(given.get('verbs'), 'verbs', knownVerbs),
      resources: words(given.get('resources'), 'resources', knownResources),
    };
    if (rule.users.length + rule.groups.length === 0) refuse(node, 'a rule needs users or groups');
    if (rule.verbs.length === 0) refuse(node, 'a rule needs verbs');
    if (rule.resources.length === 0) refuse(node, 'a rule needs resources');
    return rule;
  });
}
