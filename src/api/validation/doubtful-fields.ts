import type * as core from 'kubernetes-types/core/v1.js';
import { templateHint } from '../text/template-hint.ts';
import { parseImageName } from '../values/image-name.ts';
import type { FieldProblem } from '../decoding/manifest-object.ts';
import { checkStrictIP } from '../values/names.ts';
import { parseQuantity } from '../values/quantity.ts';
import type { RawPod } from '../types.ts';

/**
 * Warns about values that a pod may have but hardly intends: images that no registry can have, amounts that are off by
 * a factor, hostIPs that are no addresses, decimal file modes, folders of another agent, loops that wait for a DNS
 * server, annotations that Kubernetes no longer reads.
 */
export function doubtfulFields(
  { metadata, spec }: RawPod,
  { rootDir }: { rootDir?: string | undefined },
): FieldProblem[] {
  return [
    ...doubtfulAnnotations(metadata?.annotations ?? {}),
    ...(spec?.volumes ?? []).flatMap((volume, index) => doubtfulVolume(`spec.volumes[${index}]`, volume, rootDir)),
    ...(['containers', 'initContainers'] as const).flatMap((list) =>
      (spec?.[list] ?? []).flatMap((container, index) => doubtfulIn(`spec.${list}[${index}]`, container)),
    ),
    ...(spec?.hostNetwork === true ? [] : (spec?.containers ?? [])).flatMap(({ ports = [] }, index) =>
      ports.flatMap((port, at) => doubtfulHostIP(`spec.containers[${index}].ports[${at}].hostIP`, port)),
    ),
  ];
}

const mirror = 'kubernetes.io/config.mirror';

function doubtfulAnnotations(annotations: Readonly<Record<string, string>>): FieldProblem[] {
  return Object.keys(annotations).flatMap((key) => {
    const field = `metadata.annotations[${key}]`;
    if (key === mirror) {
      const message = `${mirror} marks what an API server has in place of a static pod: the pod will not start`;
      return [warn(field, message, 'Remove the annotation.')];
    }
    const [, successor] = Object.entries(formerAnnotations).find(([start]) => key.startsWith(start)) ?? [];
    if (successor === undefined) return [];
    return [warn(field, 'Kubernetes no longer reads this annotation: it has no effect', `Write ${successor}.`)];
  });
}

/** Prefixes of annotations that have become fields, with those fields. */
const formerAnnotations: Readonly<Record<string, string>> = {
  'seccomp.security.alpha.kubernetes.io/pod': 'spec.securityContext.seccompProfile',
  'container.seccomp.security.alpha.kubernetes.io/': 'securityContext.seccompProfile of the container',
  'security.alpha.kubernetes.io/sysctls': 'spec.securityContext.sysctls',
  'security.alpha.kubernetes.io/unsafe-sysctls': 'spec.securityContext.sysctls',
  'scheduler.alpha.kubernetes.io/critical-pod': 'spec.priorityClassName: system-node-critical',
  'scheduler.alpha.kubernetes.io/affinity': 'spec.affinity',
  'scheduler.alpha.kubernetes.io/tolerations': 'spec.tolerations',
  'scheduler.alpha.kubernetes.io/name': 'spec.schedulerName',
  'pod.beta.kubernetes.io/hostname': 'spec.hostname',
  'pod.beta.kubernetes.io/subdomain': 'spec.subdomain',
  'pod.alpha.kubernetes.io/init-container': 'spec.initContainers',
  'pod.beta.kubernetes.io/init-container': 'spec.initContainers',
};

function doubtfulVolume(field: string, volume: core.Volume, rootDir: string | undefined): FieldProblem[] {
  const { configMap, downwardAPI, hostPath, projected, secret } = volume;
  const modes: [string, number | undefined][] = [];
  const addFiles = (place: string, files: readonly { mode?: number }[] = []): void => {
    for (const [index, { mode }] of files.entries()) modes.push([`${place}.items[${index}].mode`, mode]);
  };
  for (const [kind, source] of Object.entries({ configMap, downwardAPI, projected, secret })) {
    modes.push([`${field}.${kind}.defaultMode`, source?.defaultMode]);
  }
  addFiles(`${field}.configMap`, configMap?.items);
  addFiles(`${field}.downwardAPI`, downwardAPI?.items);
  addFiles(`${field}.secret`, secret?.items);
  for (const [index, source] of (projected?.sources ?? []).entries()) {
    const place = `${field}.projected.sources[${index}]`;
    addFiles(`${place}.configMap`, source.configMap?.items);
    addFiles(`${place}.downwardAPI`, source.downwardAPI?.items);
    addFiles(`${place}.secret`, source.secret?.items);
  }
  return [
    ...modes.flatMap(([place, mode]) => doubtfulMode(place, mode)),
    ...(hostPath ? doubtfulHostPath(`${field}.hostPath.path`, hostPath.path, rootDir) : []),
  ];
}

/** Decimal numbers that look like permissions in octal. As decimal permissions they make no sense. */
const decimalModes: ReadonlySet<number | undefined> = new Set([400, 440, 444, 500]);

function doubtfulMode(field: string, mode = 0): FieldProblem[] {
  if (!decimalModes.has(mode)) return [];
  const message = `${mode} is decimal: the files get the mode 0${mode.toString(8)}`;
  return [warn(field, message, `Did you mean 0${mode}?`)];
}

const kubeletFolder = '/var/lib/kubelet';
const kubeletFolders = ['device-plugins', 'plugins', 'plugins_registry', 'pod-resources', 'pods'];

function doubtfulHostPath(field: string, path: string, rootDir: string | undefined): FieldProblem[] {
  if (rootDir === undefined || rootDir === kubeletFolder || !path.startsWith(`${kubeletFolder}/`)) return [];
  const below = path.slice(kubeletFolder.length);
  if (!kubeletFolders.some((name) => below === `/${name}` || below.startsWith(`/${name}/`))) return [];
  const message = `${path} belongs to a kubelet: this agent uses ${rootDir}${below}`;
  const hint = `Mount ${rootDir}${below}, or run the agent with --root-dir ${kubeletFolder}.`;
  return [warn(field, message, hint)];
}

function doubtfulIn(field: string, { args = [], command = [], image, resources }: core.Container): FieldProblem[] {
  return [
    ...Object.entries({ command, args }).flatMap(([list, words]) =>
      words.flatMap((word, index) => doubtfulLoop(`${field}.${list}[${index}]`, word)),
    ),
    ...(image === undefined ? [] : doubtfulImage(`${field}.image`, image)),
    ...(['limits', 'requests'] as const).flatMap((list) =>
      Object.entries(resources?.[list] ?? {}).flatMap(([name, amount]) =>
        doubtfulAmount(`${field}.resources.${list}[${name}]`, name, amount),
      ),
    ),
  ];
}

/** The example of Kubernetes' own page on init containers waits like this. */
const asksDNS = /\b(until|while)\b[^\n]{0,80}\b(nslookup|dig)\b/;

function doubtfulLoop(field: string, word: string): FieldProblem[] {
  const [, , program] = asksDNS.exec(word) ?? [];
  if (program === undefined) return [];
  const message = `${program} asks a DNS server, which knows no Services of this node: the loop may not end`;
  return [warn(field, message, 'Wait for the port instead: until nc -z NAME PORT; do sleep 1; done')];
}

function doubtfulImage(field: string, image: string): FieldProblem[] {
  if (parseImageName(image)) return [];
  const lower = image.toLowerCase();
  const template = templateHint(image);
  const hint = template ?? (parseImageName(lower) ? `Did you mean "${lower}"?` : 'Such as "registry.example/app:1.2".');
  return [warn(field, `"${image.slice(0, 100)}" is not an image name: nothing can be pulled`, hint)];
}

function doubtfulHostIP(field: string, { hostIP = '', hostPort = 0 }: core.ContainerPort): FieldProblem[] {
  if (hostIP !== '' && hostPort === 0) return [warn(field, 'hostIP has no effect without hostPort', 'Set hostPort.')];
  if (hostIP === '' || checkStrictIP(hostIP) === undefined) return [];
  const message = `"${hostIP.slice(0, 100)}" is not an IP address: the pod cannot start`;
  return [warn(field, message, 'Write an address of this node, such as 192.0.2.1, or remove hostIP.')];
}

const nanosPerUnit = 1_000_000_000n;
/** Hardly any machine has this many processors, and no container runs with that few bytes. */
const manyProcessors = 100n * nanosPerUnit;
const fewBytes = 64n * 1024n * nanosPerUnit;

function doubtfulAmount(field: string, name: string, amount: string): FieldProblem[] {
  const nanos = parseQuantity(amount)?.nanos ?? 0n;
  if (name === 'cpu' && nanos >= manyProcessors) {
    const hint = /^[0-9]+$/.test(amount) ? `Did you mean "${amount}m"?` : undefined;
    return [warn(field, `cpu ${amount} means whole processors`, hint)];
  }
  if (name === 'memory' && nanos > 0n && nanos < fewBytes) {
    const number = /^([0-9]+)m?$/.exec(amount)?.[1];
    const hint = number === undefined ? undefined : `Did you mean "${number}Mi"?`;
    return [warn(field, `memory ${amount} means ${amount.endsWith('m') ? 'thousandths of a byte' : 'bytes'}`, hint)];
  }
  return [];
}

function warn(field: string, message: string, hint: string | undefined): FieldProblem {
  return { field, message, ...(hint !== undefined && { hint }), severity: 'warning' };
}
