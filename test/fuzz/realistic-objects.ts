import { realisticPod } from '../builders/realistic-manifests.ts';
import type { SeededRandom } from '../builders/seeded-random.ts';

/** An object of any kind that a manifest may declare, mostly a Pod, now and then a list of others. */
export function realisticObject(random: SeededRandom, number: number): object {
  if (random.chance(0.4)) return realisticPod(random, number);
  return random.pick([configMap, secret, workload, workload, list, podList])(random, number);
}

function configMap(random: SeededRandom, number: number): object {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `settings-${number}`, ...(random.chance(0.5) && { namespace: 'edge' }) },
    data: { 'app.conf': 'listen: 80\n# comment\nlog: "info"\n', mode: random.pick(['fast', '1', 'true', '']) },
    ...(random.chance(0.4) && { binaryData: { logo: 'iVBORw0KGgo=' } }),
    ...(random.chance(0.3) && { immutable: true }),
  };
}

function secret(random: SeededRandom, number: number): object {
  const docker = JSON.stringify({ auths: { 'registry.example': { auth: 'dTpw' } } });
  const { type, data } = random.pick([
    { type: 'Opaque', data: { token: 'c2VjcmV0' } },
    { type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': Buffer.from(docker).toString('base64') } },
    { type: 'kubernetes.io/basic-auth', data: { username: 'dXNlcg==', password: 'cGFzcw==' } },
  ]);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `secret-${number}` },
    type,
    data,
    ...(random.chance(0.4) && { stringData: { plain: 'text: "quoted" # kept' } }),
  };
}

function workload(random: SeededRandom, number: number): object {
  const { spec } = realisticPod(random, number);
  const labels = { app: `app-${number}` };
  const template = { metadata: { labels }, spec };
  const job = {
    backoffLimit: random.below(4),
    template: { ...template, spec: { ...spec, restartPolicy: random.pick(['Never', 'OnFailure']) } },
  };
  const kept = { selector: { matchLabels: labels }, template };
  const { apiVersion, kind, ...rest } = random.pick<{ apiVersion: string; kind: string; spec: object }>([
    { apiVersion: 'apps/v1', kind: 'Deployment', spec: { replicas: random.below(3), ...kept } },
    { apiVersion: 'apps/v1', kind: 'DaemonSet', spec: kept },
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', spec: { replicas: 1, ...kept } },
    { apiVersion: 'apps/v1', kind: 'StatefulSet', spec: { serviceName: 'web', ...kept } },
    { apiVersion: 'batch/v1', kind: 'Job', spec: job },
    { apiVersion: 'batch/v1', kind: 'CronJob', spec: { schedule: '*/5 * * * *', jobTemplate: { spec: job } } },
    { apiVersion: 'v1', kind: 'ReplicationController', spec: { replicas: 1, selector: labels, template } },
    { apiVersion: 'v1', kind: 'Service', spec: { selector: labels, ports: [{ port: 80 }] } },
  ]);
  return { apiVersion, kind, metadata: { name: `workload-${number}` }, ...rest };
}

function list(random: SeededRandom, number: number): object {
  const items = random.times(0, 3, (index) => realisticObject(random, number * 10 + index));
  return { apiVersion: 'v1', kind: 'List', items };
}

function podList(random: SeededRandom, number: number): object {
  const items = random.times(0, 3, (index) => realisticPod(random, number * 10 + index));
  return { apiVersion: 'v1', kind: 'PodList', metadata: {}, items };
}
