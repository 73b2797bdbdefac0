import { parseQuantity } from '../values/quantity.ts';
import type { ConfigurationErrors } from './configuration-errors.ts';
import type { KubeletConfiguration } from './types.ts';

/** Validates the reservations of node resources and their enforcement. */
export function validateReservations(errors: ConfigurationErrors, kc: KubeletConfiguration): void {
  validateEnforcements(errors, kc);
  for (const name of ['systemReserved', 'kubeReserved'] as const) validateReserved(errors, name, kc[name]);
  if (kc.systemCgroups !== '' && kc.cgroupRoot === '') errors.add('systemCgroups', 'needs cgroupRoot');
  validateReservedCPUs(errors, kc);
  validateReservedMemory(errors, kc);
  for (const [resource, share] of Object.entries(kc.qosReserved)) {
    const field = `qosReserved[${resource}]`;
    if (resource !== 'memory') errors.add(field, 'only memory can be reserved for a QoS class');
    else if (!/^(100|[0-9]{1,2})%$/.test(share)) errors.add(field, `"${share}" must be a percentage up to 100%`);
  }
}

/** The field that names the cgroup for each enforcement. */
const cgroupOf = {
  'system-reserved': 'systemReservedCgroup',
  'system-reserved-compressible': 'systemReservedCgroup',
  'kube-reserved': 'kubeReservedCgroup',
  'kube-reserved-compressible': 'kubeReservedCgroup',
} as const;
const enforcements = ['pods', ...Object.keys(cgroupOf), 'none', ''];

function validateEnforcements(errors: ConfigurationErrors, kc: KubeletConfiguration): void {
  const field = 'enforceNodeAllocatable';
  const given = kc.enforceNodeAllocatable;
  for (const [index, word] of given.entries()) {
    if (given.indexOf(word) < index) errors.add(field, `has "${word}" twice`);
    else validateEnforcement(errors, kc, word);
  }
  for (const whose of ['system-reserved', 'kube-reserved']) {
    const both = [whose, `${whose}-compressible`];
    if (both.every((word) => given.includes(word))) errors.add(field, `cannot have both "${both.join('" and "')}"`);
  }
}

function validateEnforcement(errors: ConfigurationErrors, kc: KubeletConfiguration, word: string): void {
  const field = 'enforceNodeAllocatable';
  errors.addUnlessOneOf(field, word, enforcements);
  if (!enforcements.includes(word)) return;
  if (word === 'none' || word === '') {
    if (kc.enforceNodeAllocatable.length > 1) errors.add(field, `cannot have other values besides "${word}"`);
    return;
  }
  if (word in cgroupOf) {
    const cgroup = cgroupOf[word as keyof typeof cgroupOf];
    if (kc[cgroup] === '')
      errors.add(field, `"${word}" needs ${cgroup}`, 'Name the cgroup that those processes are in.');
  }
  if (!kc.cgroupsPerQOS) errors.add(field, `"${word}" needs cgroupsPerQOS`, 'Write enforceNodeAllocatable: [none].');
}

const reservable = ['cpu', 'memory', 'ephemeral-storage', 'pid'];

/** kubelet: cmd/kubelet/app/server.go parseResourceList */
function validateReserved(errors: ConfigurationErrors, name: string, amounts: Readonly<Record<string, string>>): void {
  for (const [resource, amount] of Object.entries(amounts)) {
    const field = `${name}[${resource}]`;
    if (!reservable.includes(resource)) {
      errors.add(field, `"${resource}" cannot be reserved`, `These can: ${reservable.join(', ')}.`);
    } else if ((parseQuantity(amount)?.nanos ?? -1n) < 0n) {
      errors.add(field, `"${amount}" is not an amount of ${resource}`, 'Write an amount such as 500m or 1Gi.');
    }
  }
}

function validateReservedCPUs(errors: ConfigurationErrors, kc: KubeletConfiguration): void {
  const { reservedSystemCPUs: cpus } = kc;
  if (cpus === '') return;
  if (!/^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$/.test(cpus)) {
    errors.add('reservedSystemCPUs', `"${cpus}" must be a list of CPUs such as "0-3,8"`);
  }
  const reversed = cpus.split(',').find(isReversed);
  if (reversed !== undefined) {
    errors.add('reservedSystemCPUs', `"${reversed}" is a range that ends before it begins`);
  }
  for (const name of ['systemReservedCgroup', 'kubeReservedCgroup'] as const) {
    if (kc[name] !== '') errors.add('reservedSystemCPUs', `cannot be set together with ${name}`);
  }
}

function isReversed(range: string): boolean {
  const [first = 0, last = first] = range.split('-').map(Number);
  return first > last;
}

/** kubelet: apis/config/validation/validation_reserved_memory.go */
function validateReservedMemory(errors: ConfigurationErrors, { reservedMemory }: KubeletConfiguration): void {
  const seen = new Set<string>();
  for (const [index, { numaNode, limits }] of reservedMemory.entries()) {
    for (const [type, amount] of Object.entries(limits)) {
      const field = `reservedMemory[${index}].limits[${type}]`;
      const key = `${numaNode} ${type}`;
      if (type !== 'memory' && !type.startsWith('hugepages-')) errors.add(field, `"${type}" is not a kind of memory`);
      if ((parseQuantity(amount)?.nanos ?? 0n) === 0n) errors.add(field, 'must not be zero');
      if (seen.has(key)) errors.add(field, `is repeated for NUMA node ${numaNode}`);
      seen.add(key);
    }
  }
}
