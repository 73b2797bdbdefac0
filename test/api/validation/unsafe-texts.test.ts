import { describe, expect, test } from 'vitest';
import { fieldsOfObject, type FieldKind } from '../../../src/api/decoding/object-schema.ts';
import { manifestSchema } from '../../../src/api/decoding/manifest-schema.ts';
import type { Pod } from '../../../src/api/types.ts';
import { unsafeTexts } from '../../../src/api/validation/unsafe-texts.ts';
import { podUIDHash } from '../../../src/engine/config/load-manifest.ts';
import { loadPod } from '../../builders/load-pod.ts';

const options = { nodeName: 'edge1', origin: '/manifests/a.yaml', source: 'file', hash: podUIDHash } as const;

/** What others can write into a manifest. */
const hostile = {
  NUL: 'a\0b',
  'line break': 'a\nb',
  'carriage return': 'a\rb',
  escape: 'a\x1b[2Jb',
  'line separator': 'a\u2028b',
  'half a character': 'a\ud800b',
  parent: '..',
  'way out': '../../etc',
  slash: 'a/b',
  root: '/',
  long: 'a'.repeat(300),
  bidi: 'a\u202eb',
  empty: '',
} as const;
type Hostile = keyof typeof hostile;

/** Where each text of a pod stands: fields by name, `0` for the items of lists, `k` for the members of maps. */
function textPaths(kind: FieldKind, path: readonly string[] = []): (readonly string[])[] {
  if (kind.type === 'string' || kind.type === 'intOrString') return [path];
  if (kind.type === 'list') return textPaths(kind.element, [...path, '0']);
  if (kind.type === 'map') return textPaths(kind.element, [...path, 'k']);
  if (kind.type !== 'object') return [];
  return [...fieldsOfObject(manifestSchema, kind.name)].flatMap(([name, field]) =>
    textPaths(field.kind, [...path, name]),
  );
}

function put(path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  return key === '0' ? [put(rest, value)] : { [key]: put(rest, value) };
}

const specPaths = textPaths({ type: 'object', name: 'PodSpec' });
const named = (path: readonly string[]): string => `spec.${path.join('.')}`.replaceAll('.0', '[0]');
const refusals = (path: readonly string[], text: string): string[] =>
  unsafeTexts({ metadata: { name: 'web', namespace: 'default', uid: 'u' }, spec: put(path, text) as Pod['spec'] }).map(
    ({ field }) => field,
  );

describe('every text of the spec of a pod', () => {
  test('is checked', () => {
    expect(specPaths.length).toBeGreaterThan(500);
  });

  test('holds no NUL', () => {
    expect(specPaths.filter((path) => !refusals(path, hostile.NUL).includes(named(path)))).toEqual([]);
  });

  test('holds no half of a character: of one in JSON the readers make U+FFFD, as Go does, one in YAML is an error', () => {
    expect(specPaths.filter((path) => !refusals(path, hostile['half a character']).includes(named(path)))).toEqual([]);
    const { pod } = loadPod(podWith('spec.containers[0].image', 'a\ud800b'), options);
    expect(pod?.spec.containers[0]?.image).toBe('a\ufffdb');
    const yaml =
      'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: "a\\ud800b"}]}\n';
    expect(loadPod(yaml, options).problems).toMatchObject([{ field: 'spec.containers[0].image', line: 4 }]);
  });

  test.each(['line break', 'carriage return', 'escape', 'line separator'] as const)(
    'holds no %s, but for what only programs read',
    (what) => {
      const taken = specPaths.filter((path) => !refusals(path, hostile[what]).includes(named(path)));
      const last = new Set(
        taken.map((path) =>
          path
            .filter((step) => !/^[0k]$/.test(step))
            .slice(-2)
            .join('.'),
        ),
      );
      expect([...last].sort()).toEqual([
        'containers.args',
        'containers.command',
        'csi.volumeAttributes',
        'env.value',
        'ephemeralContainers.args',
        'ephemeralContainers.command',
        'exec.command',
        'flexVolume.options',
        'initContainers.args',
        'initContainers.command',
        'metadata.annotations',
        'windowsOptions.gmsaCredentialSpec',
      ]);
    },
  );
});

/** A pod in which one text can be any; what else it needs to be one is there. */
function podWith(path: string, text: string): string {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', labels: { a: 'b' }, annotations: { a: 'b' } },
    spec: {
      hostAliases: [{ ip: '192.0.2.1', hostnames: ['a'] }],
      dnsConfig: { nameservers: ['192.0.2.1'], searches: ['a'], options: [{ name: 'a', value: 'b' }] },
      volumes: [
        { name: 'host', hostPath: { path: '/a' } },
        { name: 'config', configMap: { name: 'a', items: [{ key: 'a', path: 'a' }] } },
        { name: 'secret', secret: { secretName: 'a', items: [{ key: 'a', path: 'a' }] } },
        { name: 'down', downwardAPI: { items: [{ path: 'a', fieldRef: { fieldPath: 'metadata.name' } }] } },
      ],
      containers: [
        {
          name: 'main',
          image: 'app:1',
          terminationMessagePath: '/dev/termination-log',
          ports: [{ name: 'http', containerPort: 80, hostIP: '192.0.2.1' }],
          env: [{ name: 'A', value: 'b' }],
          volumeMounts: [{ name: 'host', mountPath: '/a', subPath: 'a' }],
          securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: 'a' } },
          readinessProbe: { httpGet: { path: '/a', port: 80, host: 'a', httpHeaders: [{ name: 'A', value: 'b' }] } },
        },
      ],
    },
  };
  const steps = path.replaceAll(/\[(\d+)\]/g, '.$1').split('.');
  const last = steps.pop() ?? '';
  const parent = steps.reduce<Record<string, unknown>>((at, step) => (at[step] ??= {}) as Record<string, unknown>, pod);
  parent[last] = text;
  return JSON.stringify(pod);
}

// Of half a character in JSON the readers make U+FFFD.
const anyPath: Hostile[] = ['parent', 'slash', 'root', 'bidi', 'half a character'];

/** Which hostile texts a field takes, and why they do no harm there; it refuses all others by its name. */
const takes: Readonly<Record<string, Hostile[]>> = {
  'metadata.name': [],
  // An empty one is the default one, or none at all.
  'metadata.namespace': ['empty'],
  'metadata.uid': ['empty'],
  // Values of labels, and names without a rule of their own, may be empty.
  'metadata.labels.a': ['empty'],
  'metadata.annotations.a': [
    'line break',
    'carriage return',
    'escape',
    'line separator',
    ...anyPath,
    'way out',
    'long',
    'empty',
  ],
  'spec.hostname': ['empty'],
  'spec.subdomain': ['empty'],
  'spec.serviceAccountName': ['empty'],
  'spec.hostAliases[0].ip': [],
  'spec.hostAliases[0].hostnames[0]': [],
  'spec.dnsConfig.nameservers[0]': [],
  'spec.dnsConfig.searches[0]': [],
  // One line of the resolver file, which goes by what it knows.
  'spec.dnsConfig.options[0].name': [...anyPath, 'way out', 'long'],
  'spec.dnsConfig.options[0].value': [...anyPath, 'way out', 'long', 'empty'],
  'spec.volumes[0].name': [],
  'spec.volumes[0].hostPath.path': ['root'],
  // Nobody can declare one of this name: the volume waits for it.
  'spec.volumes[1].configMap.name': [...anyPath, 'way out', 'long'],
  'spec.volumes[1].configMap.items[0].key': [...anyPath, 'way out', 'long'],
  'spec.volumes[1].configMap.items[0].path': ['slash', 'bidi', 'half a character'],
  'spec.volumes[2].secret.items[0].path': ['slash', 'bidi', 'half a character'],
  'spec.volumes[3].downwardAPI.items[0].path': ['slash', 'bidi', 'half a character'],
  'spec.containers[0].name': [],
  // No image has such a name; the container waits with InvalidImageName.
  'spec.containers[0].image': [...anyPath, 'way out', 'long'],
  // Of the file system of the container.
  'spec.containers[0].terminationMessagePath': [...anyPath, 'way out', 'empty'],
  'spec.containers[0].volumeMounts[0].mountPath': [...anyPath, 'way out'],
  // Checked once more where it is opened: engine/volumes/inside-volume.ts.
  'spec.containers[0].volumeMounts[0].subPath': ['slash', 'bidi', 'half a character', 'empty'],
  'spec.containers[0].ports[0].name': ['empty'],
  // Programs take names of any length.
  'spec.containers[0].env[0].name': ['parent', 'way out', 'slash', 'root', 'long'],
  'spec.containers[0].env[0].value': [
    'line break',
    'carriage return',
    'escape',
    'line separator',
    ...anyPath,
    'way out',
    'long',
    'empty',
  ],
  'spec.containers[0].securityContext.seccompProfile.localhostProfile': ['slash', 'bidi', 'half a character', 'empty'],
  'spec.containers[0].readinessProbe.httpGet.path': [...anyPath, 'way out', 'empty'],
  'spec.containers[0].readinessProbe.httpGet.host': [...anyPath, 'way out', 'long', 'empty'],
  'spec.containers[0].readinessProbe.httpGet.httpHeaders[0].name': ['long'],
  'spec.containers[0].readinessProbe.httpGet.httpHeaders[0].value': [...anyPath, 'way out', 'long', 'empty'],
};

const withoutIndexes = (path: string): string => path.replaceAll(/\[\d+\]/g, '').replace('.items.', '.');

describe.each(Object.entries(takes))('%s', (path, taken) => {
  test('refuses what is hostile by its name, or takes it without harm', () => {
    const found = (Object.keys(hostile) as Hostile[]).filter((what) => {
      const { pod, problems } = loadPod(podWith(path, hostile[what]), options);
      if (pod) return true;
      const fields = problems.flatMap(({ severity, field }) => (severity === 'error' ? [field] : []));
      // A map is named as a whole, and some of the API server's paths lack an index.
      expect(`${withoutIndexes(path)}.`).toMatch(new RegExp(`^${withoutIndexes(fields[0] ?? 'none')}\\.`));
      return false;
    });
    expect(found.sort()).toEqual([...taken].sort());
  });
});

test.each(['a', 'A1', '0a7e39f0-1c2d-4f5a-8f6e-1d2c3b4a5f60', 'pod.1-a', 'a'.repeat(128)])('%s may be a UID', (uid) => {
  expect(loadPod(podWith('metadata.uid', uid), options).pod?.metadata.uid).toBe(uid);
});

test.each(['.', '..', '.a', 'a.', '-a', 'a_b', 'a b', 'a/b', 'a:b', 'a\u00e4', 'a'.repeat(129), 'a\n'])(
  '%j is not a UID',
  (uid) => {
    expect(loadPod(podWith('metadata.uid', uid), options).problems).toEqual([
      expect.objectContaining({
        field: 'metadata.uid',
        line: 1,
        message: expect.stringMatching(/^Invalid value: ".*": must be 1 to 128 letters, digits/) as string,
      }),
    ]);
  },
);

test('namespace, name and UID fit into the name of a folder together', () => {
  const name = 'a'.repeat(240);
  expect(loadPod(podWith('metadata.name', name), options).problems).toEqual([
    expect.objectContaining({
      field: 'metadata.name',
      message: expect.stringContaining('253 bytes together') as string,
    }),
  ]);
});

test.each(['relative', './a', 'a/b', '~/a'])('a hostPath of %s would depend on where the agent was started', (path) => {
  expect(loadPod(podWith('spec.volumes[0].hostPath.path', path), options).problems).toEqual([
    {
      origin: options.origin,
      line: 1,
      column: expect.any(Number) as number,
      field: 'spec.volumes[0].hostPath.path',
      message: `Invalid value: ${JSON.stringify(path)}: must be absolute`,
      hint: 'Begin it with "/".',
      severity: 'error',
    },
  ]);
});
