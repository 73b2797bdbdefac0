import { join } from 'node:path';
import type { Container } from '../../src/api/types.ts';
import type { SeededRandom } from '../builders/seeded-random.ts';
import { hostFolder, makePod, serve, shell } from '../e2e/manifests.ts';

/** A pod as a manifest declares it now. */
export interface ChaosPod {
  readonly name: string;
  /** Differs from manifest to manifest: the UID of the pod follows it. */
  readonly revision: number;
  readonly manifest: object;
  /** Names of the containers that run for good, sidecars too. */
  readonly containers: readonly string[];
  /** Names of the containers that have a postStart hook. */
  readonly hooked: readonly string[];
  /** It completes by itself, and nothing of it runs from then on. */
  readonly ends: boolean;
}

/** Annotation with the revision. */
export const revisionAnnotation = 'chaos/revision';

/**
 * Where containers tell of themselves: `twice` has those that found another of their name running, `instances` the
 * hooked ones, `hooks` those of them whose hook has finished.
 */
export const journalNames = { twice: 'twice', starts: 'starts', instances: 'instances', hooks: 'hooks' } as const;
export const journalFolder = (rootDir: string): string => join(rootDir, 'journal');

/** The ConfigMap that some of the pods mount. */
export const settings = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings', namespace: 'default' },
  data: { colour: 'blue' },
};

const stubborn = 'trap "" TERM; while :; do sleep 3600; done';
const volumes = [
  { name: 'scratch', emptyDir: { medium: 'Memory' } },
  { name: 'settings', configMap: { name: 'settings' } },
];
const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));

export function makeChaosPod(
  { name, revision }: Pick<ChaosPod, 'name' | 'revision'>,
  random: SeededRandom,
  { rootDir, hasPodNetwork }: { rootDir: string; hasPodNetwork: boolean },
): ChaosPod {
  const ends = random.chance(0.2);
  const mounted = random.chance(0.4);
  const container = (containerName: string, script: string, more: Partial<Container> = {}): Container => {
    const key = `${name}_${containerName}`;
    return shell(containerName, `${tell(key, revision)}\n${script}`, {
      image: 'localhost/flock:1',
      ...more,
      volumeMounts: [{ name: 'journal', mountPath: '/journal' }, ...(mounted ? volumeMounts : [])],
    });
  };
  const initContainers = random.times(0, 2, (index) => container(`init${index}`, 'exit 0'));
  const hasSidecar = !ends && random.chance(0.2);
  if (hasSidecar) initContainers.push(container('sidecar', serve, { restartPolicy: 'Always' }));
  const hooked: string[] = [];
  const containers = random.times(1, 2, (index) => {
    const mainName = `main${index}`;
    if (ends) return container(mainName, `sleep ${random.pick(['0', '0.2', '1'])}`);
    const script = random.pick([serve, serve, stubborn]);
    if (!random.chance(0.3)) return container(mainName, script);
    hooked.push(mainName);
    const line = `${name}_${mainName} ${revision}`;
    return container(mainName, `${tellInstance(line)}\n${script}`, { lifecycle: { postStart: slowHook(line) } });
  });
  return {
    name,
    revision,
    ends,
    hooked,
    containers: ends ? [] : [...(hasSidecar ? ['sidecar'] : []), ...containers.map((main) => main.name)],
    manifest: makePod(name, {
      annotations: { [revisionAnnotation]: String(revision) },
      hostNetwork: !hasPodNetwork || random.chance(0.5),
      restartPolicy: ends ? random.pick(['Never', 'OnFailure']) : 'Always',
      initContainers,
      containers,
      volumes: [hostFolder('journal', journalFolder(rootDir)), ...(mounted ? volumes : [])],
    }),
  };
}

/** The instance has an id of its own, which a container keeps over a restart of kubelet-ts. */
function tellInstance(line: string): string {
  return `cat /proc/sys/kernel/random/uuid >/instance && echo "${line} $(cat /instance)" >>/journal/${journalNames.instances}`;
}

function slowHook(line: string): { exec: { command: string[] } } {
  const script = [
    'until [ -s /instance ]; do sleep 0.1; done',
    'sleep 0.7',
    `echo "${line} $(cat /instance)" >>/journal/${journalNames.hooks}`,
  ];
  return { exec: { command: ['sh', '-c', script.join('\n')] } };
}

/** The kernel gives the lock up with the last process of the container, so nothing is missed and nothing made up. */
function tell(key: string, revision: number): string {
  return [
    `exec 9>>/journal/${key}.lock`,
    `flock -n 9 || echo "${key} ${revision}" >>/journal/${journalNames.twice}`,
    `echo "${key} ${revision}" >>/journal/${journalNames.starts}`,
  ].join('\n');
}
