import { realisticPod } from '../builders/realistic-manifests.ts';
import type { SeededRandom } from '../builders/seeded-random.ts';

/** An object of any kind that a manifest may declare, mostly a Pod, now and then a list of others. */
export function realisticObject(random: SeededRandom, number: number): object {
  if (random.chance(0.4)) return realisticPod(random, number);
  return random.pick([configMap, secret, workload, workload, service, list, podList])(random, number);
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
    ...jobPolicies(random),
    template: { ...template, spec: { ...spec, restartPolicy: random.pick(['Never', 'OnFailure']) } },
  };
  const kept = { selector: { matchLabels: labels }, template };
  const cron = {
    schedule: random.pick(['*/5 * * * *', '@daily', '0 3 * * mon-fri']),
    ...random.pick([{}, { timeZone: 'Europe/Berlin' }, { concurrencyPolicy: 'Forbid', startingDeadlineSeconds: 60 }]),
    jobTemplate: { spec: job },
  };
  const claim = { metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'] } };
  const ordered = {
    serviceName: 'web',
    ...random.pick([{}, { ordinals: { start: 5 } }, { podManagementPolicy: 'Parallel' }]),
    ...random.pick([{}, { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } } }]),
    ...random.pick([{}, { volumeClaimTemplates: [claim] }]),
  };
  const strategy = random.pick([
    { type: 'Recreate' },
    { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: random.below(2) } },
  ]);
  const { apiVersion, kind, ...rest } = random.pick<{ apiVersion: string; kind: string; spec: object }>([
    { apiVersion: 'apps/v1', kind: 'Deployment', spec: { replicas: random.below(3), strategy, ...kept } },
    { apiVersion: 'apps/v1', kind: 'DaemonSet', spec: kept },
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', spec: { replicas: 1, ...kept } },
    { apiVersion: 'apps/v1', kind: 'StatefulSet', spec: { ...ordered, ...kept } },
    { apiVersion: 'batch/v1', kind: 'Job', spec: job },
    { apiVersion: 'batch/v1', kind: 'CronJob', spec: cron },
    { apiVersion: 'v1', kind: 'ReplicationController', spec: { replicas: 1, selector: labels, template } },
  ]);
  return { apiVersion, kind, metadata: { name: `workload-${number}` }, ...rest };
}

function jobPolicies(random: SeededRandom): object {
  const onExitCodes = { operator: 'In', values: [1, 42], containerName: 'main' };
  const onPodConditions = [{ type: 'DisruptionTarget', status: 'True' }];
  return random.pick([
    {},
    { completions: 3, parallelism: 2, activeDeadlineSeconds: 600, ttlSecondsAfterFinished: 0 },
    { completions: 3, completionMode: 'Indexed', backoffLimitPerIndex: 1, maxFailedIndexes: 2 },
    {
      completions: 3,
      completionMode: 'Indexed',
      successPolicy: { rules: [{ succeededIndexes: '0,2', succeededCount: 1 }] },
    },
    {
      podFailurePolicy: {
        rules: [
          { action: 'FailJob', onExitCodes },
          { action: 'Ignore', onPodConditions },
        ],
      },
    },
  ]);
}

function service(random: SeededRandom, number: number): object {
  const name = `service-${number}`;
  const ports = [{ name: 'http', port: 80, targetPort: random.pick(['http', 8080]), protocol: 'TCP' }];
  const { apiVersion, kind, ...rest } = random.pick<{ apiVersion: string; kind: string; [part: string]: unknown }>([
    { apiVersion: 'v1', kind: 'Service', spec: { selector: { app: name }, ports } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      spec: {
        type: 'NodePort',
        selector: { app: name },
        ports: [{ ...ports[0], nodePort: 30_000 + (number % 2768) }],
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
        internalTrafficPolicy: 'Local',
        externalTrafficPolicy: 'Local',
        ipFamilyPolicy: 'PreferDualStack',
        ipFamilies: ['IPv4', 'IPv6'],
        publishNotReadyAddresses: true,
      },
    },
    { apiVersion: 'v1', kind: 'Service', spec: { clusterIP: 'None', selector: { app: name } } },
    { apiVersion: 'v1', kind: 'Service', spec: { type: 'ExternalName', externalName: 'db.example' } },
    {
      apiVersion: 'v1',
      kind: 'Endpoints',
      subsets: [{ addresses: [{ ip: '192.0.2.7', hostname: 'db' }], ports: [{ port: 5432 }] }],
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      addressType: random.pick(['IPv4', 'IPv6', 'FQDN']),
      endpoints: [{ addresses: ['192.0.2.7'], conditions: { ready: true } }],
      ports: [{ name: '', port: 5432, protocol: 'TCP' }],
    },
  ]);
  return { apiVersion, kind, metadata: { name }, ...rest };
}

function list(random: SeededRandom, number: number): object {
  const items = random.times(0, 3, (index) => realisticObject(random, number * 10 + index));
  return { apiVersion: 'v1', kind: 'List', items };
}

function podList(random: SeededRandom, number: number): object {
  const items = random.times(0, 3, (index) => realisticPod(random, number * 10 + index));
  return { apiVersion: 'v1', kind: 'PodList', metadata: {}, items };
}
