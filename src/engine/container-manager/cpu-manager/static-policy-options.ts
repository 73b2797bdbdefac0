import type { FeatureGates } from '../../../api/values/feature-gates.ts';
import { parseGoBool } from '../../../api/values/go-numbers.ts';
import { goQuote } from '../../../api/values/go-quote.ts';
import { explained } from '../../../errors.ts';

/** The gates that cpuManagerPolicyOptions need. */
export type OptionGates = Pick<FeatureGates, 'CPUManagerPolicyAlphaOptions' | 'CPUManagerPolicyBetaOptions'>;

/** Of a kubelet 1.36. A stable option needs no gate. kubelet: cpumanager/policy_options.go */
const stages = {
  'align-by-socket': 'Alpha',
  'distribute-cpus-across-cores': 'Alpha',
  'distribute-cpus-across-numa': 'Beta',
  'full-pcpus-only': 'stable',
  'prefer-align-cpus-by-uncorecache': 'stable',
  'strict-cpu-reservation': 'stable',
} as const;

type OptionName = keyof typeof stages;

/** Options of the static policy. kubelet: cpumanager/policy_options.go StaticPolicyOptions */
export type StaticPolicyOptions = Readonly<Record<OptionName, boolean>>;

/** Pairs of options that cannot be used together. */
const exclusive: readonly (readonly [OptionName, OptionName])[] = [
  ['full-pcpus-only', 'distribute-cpus-across-cores'],
  ['distribute-cpus-across-numa', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-numa'],
];

/**
 * Parses cpuManagerPolicyOptions. Throws an `Error` with the kubelet's message if an option is unknown, disabled by its
 * feature gate, not a boolean, or incompatible with another option. kubelet: cpumanager/policy_options.go
 * NewStaticPolicyOptions
 */
export function staticPolicyOptions(
  given: Readonly<Record<string, string>>,
  featureGates: OptionGates,
): StaticPolicyOptions {
  const options: Record<OptionName, boolean> = {
    'align-by-socket': false,
    'distribute-cpus-across-cores': false,
    'distribute-cpus-across-numa': false,
    'full-pcpus-only': false,
    'prefer-align-cpus-by-uncorecache': false,
    'strict-cpu-reservation': false,
  };
  for (const [name, value] of Object.entries(given)) {
    const option = availableOption(name, featureGates);
    options[option] = explained(`bad value for option "${name}"`, () => parseGoBool(value));
  }
  for (const [one, other] of exclusive) {
    if (!options[one] || !options[other]) continue;
    throw new Error(`static policy options ${one} and ${other} can not be used at the same time`);
  }
  return options;
}

/** Formats options as Go prints them. */
export function optionsText(options: Readonly<Record<string, string>>): string {
  const names = Object.keys(options).sort();
  return `map[${names.map((name) => `${name}:${options[name]}`).join(' ')}]`;
}

function availableOption(name: string, featureGates: OptionGates): OptionName {
  if (!isOption(name)) throw new Error(`unknown CPU Manager Policy option: ${goQuote(name)}`);
  const stage = stages[name];
  if (stage === 'stable' || featureGates[`CPUManagerPolicy${stage}Options`]) return name;
  throw new Error(`CPU Manager Policy ${stage}-level Options not enabled, but option "${name}" provided`);
}

function isOption(name: string): name is OptionName {
  return Object.hasOwn(stages, name);
}
