import type { ManifestContent } from './manifest-node.ts';
import { readExactYaml } from './read-exact-yaml.ts';
import { readPlainYaml } from './read-plain-yaml.ts';
import type { ReadingBudget } from './reading-budget.ts';

/**
 * Reads the first document of a YAML text as the JSON the kubelet makes of it: YAML 1.1 scalars, merge keys in the order
 * they are written, the last of repeated keys, scalars as keys. Anchors cost no more than the kubelet allows.
 *
 * sigs.k8s.io/yaml: YAMLToJSON
 */
export function readYaml(text: string, budget: ReadingBudget): ManifestContent {
  return readPlainYaml(text, budget) ?? readExactYaml(text, budget);
}
