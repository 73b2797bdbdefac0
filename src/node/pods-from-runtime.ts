import { loadManifests } from '../api/objects/load-manifests.ts';
import type { Container, Pod, PodSpec } from '../api/types.ts';
import { defaultFeatureGates } from '../api/values/feature-gates.ts';
import { podKey } from '../api/values/pod-names.ts';
import { formatTime } from '../api/values/time.ts';
import type { RuntimeService } from '../cri/runtime-service.ts';
import { readLastGood } from '../engine/config/last-good/last-good-manifests.ts';
import { podUIDHash } from '../engine/config/load-manifest.ts';
import { noProbeResults, noProbeWorkers } from '../engine/container/probe-results.ts';
import type { RuntimePodStatus } from '../engine/container/runtime-pod-status.ts';
import { readRevision } from '../engine/in-place/applied-revisions.ts';
import { PodDirs } from '../engine/host/pod-dirs.ts';
import { readTerminationMessage } from '../engine/kuberuntime/read-termination-message.ts';
import { RuntimePods } from '../engine/kuberuntime/runtime-pods.ts';
import { publicNames, secretsOf } from '../engine/redaction/declared-secrets.ts';
import { maxTerminationMessageBytes, Redactor } from '../engine/redaction/redactor.ts';
import { SecretValues } from '../engine/redaction/secret-values.ts';
import { isPodDone, withDoneContainers } from '../engine/status/done-containers.ts';
import { generatePodStatus } from '../engine/status/generate-pod-status.ts';
import { readStatusRecord, type StatusRecord } from '../engine/status/status-records.ts';

/**
 * The pods of a runtime as API objects, and completed ones that it lost, for use while no agent runs. Strings pass the
 * same filter as in the agent of this root-dir. Times come from that agent's records.
 */
export async function podsFromRuntime(runtime: RuntimeService, rootDir: string): Promise<Pod[]> {
  const { text } = new Redactor({ secrets: await secretsOnDisk(rootDir) });
  const runtimePods = new RuntimePods({
    runtime,
    readTerminationMessage: async (status) => text(await readTerminationMessage(status), maxTerminationMessageBytes),
  });
  const [{ runtimeName }, found] = await Promise.all([runtime.version({}), runtimePods.getPods({})]);
  const statuses = await Promise.all(found.map((listed) => runtimePods.getPodStatus(listed.uid, { listed })));
  const podDirs = new PodDirs({ rootDir });
  const inRuntime = statuses.map(async (status) =>
    toPod(status, runtimeName, await readCheckpoint(podDirs, status.uid)),
  );
  const known = new Set(found.map(({ uid }) => uid));
  const others = (await podDirs.podUIDs()).filter((uid) => !known.has(uid));
  const lost = others.map(async (uid) => completedPod(uid, runtimeName, await readCheckpoint(podDirs, uid)));
  return [...(await Promise.all(inRuntime)), ...(await Promise.all(lost)).flat()].sort((a, b) =>
    podKey(a.metadata) < podKey(b.metadata) ? -1 : 1,
  );
}

/** What the last agent recorded of a pod. */
interface Checkpoint {
  /** Without it, the pod's age is that of its oldest sandbox. */
  record?: StatusRecord | undefined;
  /** The pod by its manifest. Without it, every container counts as a regular one. */
  pod?: Pod | undefined;
}

async function readCheckpoint(podDirs: PodDirs, uid: string): Promise<Checkpoint> {
  try {
    const folder = podDirs.podDir(uid);
    const [record, revision] = await Promise.all([readStatusRecord(folder), readRevision(folder)]);
    return { record, pod: revision?.pod };
  } catch {
    // Another program's pod, or we are not root.
    return {};
  }
}

/**
 * The pod of a folder if none of its containers will start again. Then only our records show it, once the runtime has
 * lost it.
 */
function completedPod(uid: string, runtimeName: string, known: Checkpoint): Pod[] {
  const { pod, record } = known;
  if (pod === undefined || record === undefined || record.runsAnew || !isPodDone(pod, record.done)) return [];
  const { name, namespace } = pod.metadata;
  return [toPod({ uid, name, namespace, ips: [], containerStatuses: [], sandboxStatuses: [] }, runtimeName, known)];
}

/** Which containers a pod has. Leaves out what may be secret, such as the values of variables. */
function shapeOf({ initContainers = [], containers, ...spec }: PodSpec, isPresent: boolean): PodSpec {
  const { restartPolicy, readinessGates, activeDeadlineSeconds } = spec;
  const shapes = (list: readonly Container[]): Container[] =>
    list.map(({ name, image, restartPolicy: policy, restartPolicyRules }) => ({
      name,
      ...(image !== undefined && { image }),
      ...(policy !== undefined && { restartPolicy: policy }),
      ...(restartPolicyRules !== undefined && { restartPolicyRules }),
    }));
  return {
    ...(initContainers.length > 0 && { initContainers: shapes(initContainers) }),
    containers: shapes(containers),
    ...(restartPolicy !== undefined && { restartPolicy }),
    ...(readinessGates !== undefined && { readinessGates }),
    // Without an agent, a pod keeps running after its deadline.
    ...(activeDeadlineSeconds !== undefined && !isPresent && { activeDeadlineSeconds }),
  };
}

function toPod(found: RuntimePodStatus, runtimeName: string, { record, pod: declared }: Checkpoint): Pod {
  const podStatus = withDoneContainers(found, record?.done ?? []);
  const { uid, name, namespace, containerStatuses, sandboxStatuses } = podStatus;
  const names = [...new Set(containerStatuses.map((status) => status.name))].sort();
  const pod: Pod = {
    metadata: { uid, name, namespace },
    spec: {
      ...(declared === undefined
        ? { containers: names.map((container) => ({ name: container })) }
        : shapeOf(declared.spec, sandboxStatuses.length > 0)),
      hostNetwork: sandboxStatuses[0]?.networkMode === 'node',
    },
  };
  const status = generatePodStatus({
    pod,
    podStatus,
    oldStatus: record && { startTime: formatTime(record.acknowledgedAt), conditions: record.conditions },
    probes: noProbeResults,
    probeWorkers: noProbeWorkers,
    starting: new Set(Object.values(record?.starting ?? {})),
    startFailures: new Map(),
    podIsTerminal: false,
    now: Date.now(),
    runtimeName,
  });
  const createdAt = Math.min(...sandboxStatuses.map((sandbox) => sandbox.createdAt));
  const isOlder = record === undefined && Number.isFinite(createdAt);
  return { ...pod, status: { ...status, ...(isOlder && { startTime: new Date(createdAt).toISOString() }) } };
}

/** The values of the Secrets of the last agent of this root-dir. Rejects without permission to read them. */
async function secretsOnDisk(rootDir: string): Promise<SecretValues> {
  const secrets = new SecretValues();
  const node = { nodeName: '', featureGates: defaultFeatureGates, hash: podUIDHash };
  for (const { body, source, where } of await readLastGood(rootDir)) {
    const { configObjects, pods } = loadManifests(body, { ...node, origin: where, source });
    secrets.set(`${source} ${where}`, secretsOf(configObjects));
    secrets.setPublicNames(`${source} ${where}`, publicNames(pods));
  }
  return secrets;
}
