import { Document, visit } from 'yaml';
import type { Container, PodSpec, RawPod, Volume } from '../../src/api/types.ts';
import { SeededRandom } from './seeded-random.ts';

/**
 * Pods as people and tools write them: 0.6 to 2 KB, block and flow YAML, JSON, comments, quotes, scripts in block
 * scalars. All are valid, and no two are the same.
 */
export function realisticManifests(count: number, seed: number): string[] {
  const random = new SeededRandom(seed);
  const manifests: string[] = [];
  while (manifests.length < count) {
    const manifest = writeManifest(realisticPod(random, manifests.length), random);
    if (manifest.length >= 600 && manifest.length <= 2048) manifests.push(manifest);
  }
  return manifests;
}

/** A valid pod with what static pods mostly use. */
export function realisticPod(random: SeededRandom, number: number): RawPod {
  const app = random.pick(['web', 'etcd', 'kube-proxy', 'logs', 'metrics', 'dns-cache', 'gateway']);
  const volumes = random.times(0, 3, (index) => volume(random, index));
  const spec: PodSpec = {
    ...(random.chance(0.4) && { hostNetwork: true }),
    ...(random.chance(0.3) && { priorityClassName: 'system-node-critical' }),
    ...(random.chance(0.3) && { securityContext: { runAsUser: random.below(65536), fsGroup: 1000 } }),
    ...(random.chance(0.2) && { initContainers: [container(random, 'init-0', volumes, false)] }),
    containers: random.times(1, 2, (index) => container(random, `c${index}`, volumes, true)),
    ...(volumes.length > 0 && { volumes }),
    ...(random.chance(0.2) && { restartPolicy: random.pick(['Always', 'OnFailure', 'Never']) }),
    ...(random.chance(0.2) && { terminationGracePeriodSeconds: random.below(600) }),
    ...(random.chance(0.2) && { hostAliases: [{ ip: `192.0.2.${random.below(255)}`, hostnames: ['a.example', 'b'] }] }),
    ...(random.chance(0.2) && {
      tolerations: [{ key: 'role', operator: 'Equal', value: 'edge', effect: 'NoSchedule' }],
    }),
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${app}-${number}`,
      ...(random.chance(0.6) && { namespace: random.pick(['kube-system', 'default', 'edge']) }),
      labels: { 'app.kubernetes.io/name': app, tier: random.pick(['control-plane', 'data']), shard: String(number) },
      ...(random.chance(0.4) && {
        annotations: {
          'example.com/owner': 'team a, "b" & c',
          'example.com/note': `rev: ${random.below(1e9)} # not a comment`,
        },
      }),
    },
    spec,
  };
}

function container(random: SeededRandom, name: string, volumes: readonly Volume[], isMain: boolean): Container {
  const port = 1024 + random.below(60_000);
  const probe = (path: string) => ({
    httpGet: { path, port, scheme: random.pick(['HTTP', 'HTTPS']) },
    initialDelaySeconds: random.below(30),
    periodSeconds: 1 + random.below(30),
    timeoutSeconds: 15,
    failureThreshold: 8,
  });
  return {
    name,
    image: `registry.example.com/${random.pick(['team/app', 'etcd', 'nginx'])}:${random.below(9)}.${random.below(99)}`,
    ...(random.chance(0.5) && { imagePullPolicy: 'IfNotPresent' }),
    command: random.chance(0.3)
      ? ['sh', '-c', `set -e\necho "start: ${random.below(1e6)}"\n# wait\nexec /bin/app --listen=:${port}\n`]
      : [
          '/bin/app',
          ...random.times(0, 12, (index) => `--option-${index}=https://192.0.2.${random.below(255)}:${port}/${index}`),
        ],
    env: random.times(0, 4, (index) => ({
      name: `VAR_${index}`,
      value: random.pick([
        'true',
        '80',
        'postgres://u:p@db:5432/x?y=z',
        'two words',
        '',
        'off',
        '0x1F',
        `${random.next()}`,
      ]),
    })),
    ...(isMain && { ports: [{ name: 'main', containerPort: port, hostPort: port, protocol: 'TCP' }] }),
    ...(random.chance(0.7) && {
      resources: {
        requests: { cpu: `${1 + random.below(900)}m`, memory: `${1 + random.below(900)}Mi` },
        ...(random.chance(0.5) && { limits: { cpu: '2', memory: '2Gi' } }),
      },
    }),
    ...(isMain && random.chance(0.5) && { livenessProbe: probe('/livez'), readinessProbe: probe('/readyz?verbose') }),
    ...(random.chance(0.3) && {
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } },
    }),
    ...(volumes.length > 0 && {
      volumeMounts: volumes.map((mounted) => ({
        name: mounted.name,
        mountPath: `/mnt/${mounted.name}`,
        readOnly: random.chance(0.5),
      })),
    }),
  };
}

function volume(random: SeededRandom, index: number): Volume {
  const name = `v${index}`;
  return random.pick<Volume>([
    { name, hostPath: { path: `/etc/pki/${random.below(1e6)}`, type: 'DirectoryOrCreate' } },
    { name, emptyDir: {} },
    { name, emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } },
    { name, downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
  ]);
}

/** Writes an object in one of the formats in which manifests occur. */
export function writeManifest(pod: object, random: SeededRandom): string {
  const form = random.next();
  if (form < 0.1) return JSON.stringify(pod);
  if (form < 0.2) return JSON.stringify(pod, undefined, 2);
  const document = new Document(pod, { version: '1.1' });
  const flowShare = random.pick([0, 0, 0.3, 0.8]);
  visit(document, {
    Collection: (key, node) => {
      // A root in flow style would start with a brace, and the kubelet would parse it as JSON.
      if (key !== null && node.items.length <= 4 && random.chance(flowShare)) node.flow = true;
    },
    Pair: (_key, pair) => {
      if (random.chance(0.02) && typeof pair.key === 'object' && pair.key !== null) {
        Object.assign(pair.key, { commentBefore: ' why this is so, see the runbook', spaceBefore: random.chance(0.5) });
      }
    },
  });
  const text = document.toString({
    indentSeq: random.chance(0.5),
    lineWidth: random.pick([0, 0, 80]),
    defaultStringType: random.pick(['PLAIN', 'PLAIN', 'QUOTE_DOUBLE', 'QUOTE_SINGLE']),
    defaultKeyType: 'PLAIN',
    flowCollectionPadding: random.chance(0.5),
  });
  const headed = random.chance(0.3) ? `# Made for this test\n---\n${text}` : text;
  return random.chance(0.05) ? headed.replaceAll('\n', '\r\n') : headed;
}
