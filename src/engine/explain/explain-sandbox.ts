import { shellWord } from '../../text/shell-word.ts';
import { sandboxFaults } from '../view/sandbox-faults.ts';
import { reasons } from '../view/reasons.ts';
import type { Finding } from './explanation.ts';
import { type KnownMessage, lastClause, machineMessages, meaningOf } from './known-message.ts';
import { readRuntimeLog } from './runtime-remedies.ts';
import { eventEvidence, newestEvent, nextTry, type PastEvent, type Subject } from './subject.ts';

/** Explains that a network, volume, cgroup or sandbox cannot be created. Every container of the pod needs it. */
export function explainSandbox(subject: Subject): Finding | undefined {
  return explainDelay(subject) ?? explainFailure(subject);
}

/** Explains that the runtime answers for other pods, but not for this one. */
function explainDelay(subject: Subject): Finding | undefined {
  const { pod, sandboxDelay } = subject;
  if (sandboxDelay === undefined) return undefined;
  const { seconds, plugin } = sandboxDelay;
  const event = newestEvent(subject, [reasons.sandboxDelayed]);
  const evidence = event === undefined ? [] : [eventEvidence(event)];
  const cause = 'the container runtime is still creating the pod sandbox';
  if (pod.spec.hostNetwork === true) {
    return { stage: 'start', cause, evidence, fixes: [readRuntimeLog(subject)] };
  }
  if (plugin !== undefined) {
    const waits = `waits for its network (plugin ${plugin}, more than ${String(seconds)} s)`;
    return { stage: 'network', cause: waits, evidence, fixes: hungPluginRemedies };
  }
  return { stage: 'network', cause: `${cause}; a network plugin (CNI) may hang`, evidence, fixes: hungPluginRemedies };
}

const hungPluginRemedies: string[] = [
  "Look for a network plugin (CNI) that hangs: ps -eo pid,etime,args | grep -E '(opt/cni/bin|usr/lib/cni)/'",
  'Or set hostNetwork: true for a pod that may use the network of this machine.',
];

function explainFailure(subject: Subject): Finding | undefined {
  const failure = subject.worker?.lastSyncError;
  if (failure === undefined) return undefined;
  const event = newestEvent(subject, [
    reasons.networkNotReady,
    reasons.failedCreatePodSandBox,
    reasons.failedMount,
    reasons.failedCreatePodContainer,
  ]);
  // A later failure of a container has its own event.
  if (event === undefined || !failure.includes(lastClause(event.message))) return undefined;
  return { ...findingOf(subject, event), evidence: [eventEvidence(event)], ...nextTry(subject) };
}

function findingOf(subject: Subject, { reason, message }: PastEvent): Omit<Finding, 'evidence'> {
  if (reason === reasons.failedMount) return volumeFinding(subject, message);
  if (reason === reasons.networkNotReady) {
    const broken = meaningOf(configurationMessages, message);
    if (broken !== undefined) return { stage: 'network', ...broken };
    return {
      stage: 'network',
      cause: `no pod network: ${lastClause(message)}`,
      fixes: [
        ...networkRemedies(subject),
        'Or set hostNetwork: true for a pod that may use the network of this machine.',
      ],
    };
  }
  const meaning = meaningOf(sandboxMessages, message, subject) ?? meaningOf(machineMessages, message);
  const isNetwork = /network|cni|port|IP address/i.test(message);
  return {
    stage: isNetwork ? 'network' : 'start',
    ...(meaning ?? {
      cause: lastClause(message),
      fixes: isNetwork ? networkRemedies(subject) : [readRuntimeLog(subject)],
    }),
  };
}

/** Returns how to give the runtime a pod network. */
function networkRemedies({ node }: Subject): string[] {
  if (node === undefined) return ['Check the network of the container runtime: kubelet-ts doctor'];
  const { managed, named, networkCommands = [] } = node.runtime;
  if (managed === true) {
    return [
      'Install the CNI plugins: apt-get install containernetworking-plugins',
      'Then restart the managed containerd: kubelet-ts down --all, and start kubelet-ts again.',
    ];
  }
  const without = named === true ? ' without --container-runtime-endpoint and $CONTAINER_RUNTIME_ENDPOINT' : '';
  return [
    ...networkCommands.map((command) => `Make the runtime ready for pods: ${command}`),
    `Or use the managed containerd, which has a network: kubelet-ts down, then start kubelet-ts again${without}.`,
  ];
}

const configurationMessages: readonly KnownMessage<[]>[] = [
  {
    pattern: /failed to load CNI config(?: list)? file (\S+): (.*?)(?:: invalid cni config|$)/,
    cause: ([, path = '', why = '']) =>
      `no pod network: the CNI configuration ${path} is not valid: ${lastClause(why)}`,
    fixes: ([, path = '']) => [
      'Find the line at fault: kubelet-ts doctor',
      `Correct ${path}, or remove it and run "kubelet-ts down --all" for the bridge of kubelet-ts.`,
    ],
  },
];

const sandboxMessages: readonly KnownMessage<[Subject]>[] = [
  {
    // The runtime refuses a second attempt until the first one is over.
    pattern: /failed to reserve sandbox name|DeadlineExceeded|deadline exceeded|did not answer in time/i,
    cause: () => 'the container runtime did not create the sandbox in time',
    fixes: () => hungPluginRemedies,
  },
  {
    pattern: /cannot read the resolver file of this node: .*'([^']+)'/,
    cause: ([, path = '']) => `the resolver file ${path} of this node is missing or cannot be read`,
    fixes: ([, path = '']) => [
      `Check it: ls -lL ${shellWord(path)}`,
      'Create it, or name another one: kubelet-ts run --resolv-conf FILE',
      'Or set dnsPolicy: None with dnsConfig.nameservers in the pod.',
    ],
  },
  {
    // libcni, a part of containerd, has no setting for this folder.
    pattern: /open \/var\/lib\/cni\/.*read-only file system/,
    cause: () => 'the container runtime cannot write to /var/lib/cni: the file system is read-only',
    fixes: () => ['Mount a tmpfs there, at each boot: mount -t tmpfs cni /var/lib/cni'],
  },
  {
    pattern: new RegExp(sandboxFaults.noAddress),
    cause: () => sandboxFaults.noAddress,
    fixes: () => [
      'Check the ipam part of the CNI configuration: ls /etc/cni/net.d',
      'Or set hostNetwork: true for a pod that may use the network of this machine.',
    ],
  },
  {
    pattern: new RegExp(sandboxFaults.ended),
    cause: () => `${sandboxFaults.ended}, before its containers could run`,
    fixes: () => [
      'Look for an exit of its pause process: kubelet-ts doctor; dmesg | tail',
      'Load the pause image of the container runtime again; its own may be damaged: kubelet-ts images list',
    ],
  },
  {
    pattern: /failed to find plugin "([^"]+)" in path \[([^\]]*)\]/,
    cause: ([, plugin = '', path = '']) => `no CNI plugin "${plugin}" is in ${path}`,
    fixes: ([, plugin = '', path = '']) => [
      `Install the CNI plugins (Debian: apt install containernetworking-plugins), or put ${plugin} into ${path}.`,
    ],
  },
  {
    pattern:
      /no runtime for "([^"]+)" is configured|unknown runtime handler "([^"]+)"|runtime handler (\S+) (?:is )?not/i,
    cause: ([, a, b, c]) => `the container runtime has no handler "${a ?? b ?? c ?? ''}"`,
    fixes: (_found, { node }) => [
      node?.runtime.managed === true
        ? 'Add the handler in a file in containerd/conf.d of the root-dir, restart kubelet-ts, and check it: kubelet-ts doctor'
        : 'Configure the handler in the container runtime.',
      'Or leave spec.runtimeClassName out.',
    ],
  },
  {
    pattern: /address already in use|port is already allocated/i,
    cause: () => 'another program uses a host port of the pod',
    fixes: () => ['Find the program that listens: ss -ltnp', 'Or choose another hostPort.'],
  },
  {
    pattern: /no (?:more )?(?:IP )?addresses available|no IP addresses available in range/i,
    cause: () => 'the pod network has no address left',
    fixes: () => [
      'Use a larger subnet (--pod-cidr, or your file in /etc/cni/net.d), or remove stale files below /var/lib/cni/networks.',
    ],
  },
  {
    pattern: /(?:sandbox|pause)[- ]?image(?: "([^"]+)")?|pull.*pause/i,
    cause: () => 'the pause image of the container runtime is missing',
    fixes: ([, image]) => [
      ...(image === undefined ? [] : [`Pull it: kubelet-ts images pull ${shellWord(image)}`]),
      'Correct sandbox_image in the configuration of the container runtime, or load the image into it.',
    ],
  },
  {
    pattern: /cgroup/i,
    cause: () => 'the cgroup of the pod cannot be created',
    fixes: () => [
      'Compare --cgroup-driver with the driver of the container runtime.',
      'Check that /sys/fs/cgroup is writable.',
    ],
  },
];

function volumeFinding({ pod }: Subject, message: string): Omit<Finding, 'evidence'> {
  const [, name = '', failure = message] = /for volume "([^"]*)" : (.*)/s.exec(message) ?? [];
  const index = (pod.spec.volumes ?? []).findIndex((volume) => volume.name === name);
  const meaning = meaningOf(volumeMessages, failure) ?? meaningOf(machineMessages, failure);
  return {
    stage: 'volume',
    ...(index >= 0 && { field: `spec.volumes[${index}]` }),
    cause: `volume ${name}: ${meaning?.cause ?? failure}`,
    fixes: meaning?.fixes ?? ['Correct the volume in the manifest.'],
  };
}

const volumeMessages: readonly KnownMessage<[]>[] = [
  {
    // Comes before the entry for the ConfigMap kube-root-ca.crt, which this volume needs too.
    pattern: /failed to fetch token: there is no API server/,
    cause: () => 'a token of a service account needs an API server',
    fixes: () => [
      'Remove the volume and its volumeMounts from the manifest, as from every manifest that kubectl get -o yaml printed.',
    ],
  },
  {
    pattern: /hostPath type check failed: (\S+) is not an? (.*)/,
    cause: ([, path = '', kind = '']) => `${path} is not a ${kind} on this machine`,
    fixes: ([, path = '']) => [
      `Check it: ls -ld ${shellWord(path)}`,
      'Correct hostPath.path, or set hostPath.type to DirectoryOrCreate or FileOrCreate.',
    ],
  },
  {
    pattern: /(configmap|secret) "([^"]+)" not found/,
    cause: ([, kind = '', name = '']) => `no manifest declares ${kind === 'secret' ? 'Secret' : 'ConfigMap'} ${name}`,
    fixes: ([, kind = '', name = '']) => [
      `Declare ${kind === 'secret' ? 'Secret' : 'ConfigMap'} ${name} in a manifest next to the pod.`,
      'Or set optional: true on the volume.',
    ],
  },
  {
    pattern: /persistentvolumeclaim "([^"]+)" not found/,
    cause: ([, name = '']) => `no manifest declares PersistentVolumeClaim ${name}`,
    fixes: ([, name = '']) => [`Declare PersistentVolumeClaim ${name} in a manifest next to the pod.`],
  },
  {
    pattern: /persistentvolumeclaim "([^"]+)" is not bound: (.*)/s,
    cause: ([, name = '', reason = '']) => `PersistentVolumeClaim ${name} is not bound: ${reason}`,
    fixes: () => ['Correct the claim, or declare a PersistentVolume that fits it, next to the pod.'],
  },
  {
    pattern: /references non-existent (?:config|secret) key: (\S+)/,
    cause: ([, key = '']) => `the object of the volume has no key ${key}`,
    fixes: ([, key = '']) => [`Add the key ${key}, or correct items.`],
  },
];
