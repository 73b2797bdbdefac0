import { isPodReady } from '../../api/values/pod-conditions.ts';
import { podKey } from '../../api/values/pod-names.ts';
import { podStatusText } from '../../api/values/pod-printer.ts';
import { hasClusterIP, type Service, type ServiceAddresses } from '../../api/values/service.ts';
import { isServiceAddresses } from '../../api/values/config-object.ts';
import type { Evidence } from '../../engine/explain/explanation.ts';
import { type Allocation, serviceKey } from '../../engine/services/allocation.ts';
import { computeForwarding } from '../../engine/services/compute-forwarding.ts';
import { isSelected, servicePod } from '../../engine/services/service-pod.ts';
import { readAllocations } from '../../engine/services/service-records.ts';
import type { ServiceProblem } from '../../engine/view/service-problem.ts';
import type { EngineSnapshot, PodSnapshot } from '../../engine/view/snapshot.ts';
import { UserError } from '../../errors.ts';
import { visible } from '../../text/visible-text.ts';
import { declaredConfigObjects } from '../objects/declared-config-objects.ts';
import { knownServiceProblems } from '../objects/known-service-problems.ts';
import { brokenManifests } from '../objects/refused-manifest.ts';

/** Why a Service does not answer. */
export interface ServiceExplanation extends Finding {
  namespace: string;
  /** Such as `service/web`. */
  name: string;
}

interface Finding {
  /** The first stage that fails. `serving` if none does. */
  stage: ServiceProblem['stage'] | 'serving';
  cause: string;
  evidence: Evidence[];
  /** Remedies, most likely first, each an edit or a command. Empty if nothing needs to be done. */
  fixes: string[];
}

/** A Service and what belongs to it. */
export interface ServiceSubject {
  service: Service;
  /** The file or URL that declares it. */
  where: string;
  addresses: readonly ServiceAddresses[];
  /** Undefined if it has no address. */
  allocation: Allocation | undefined;
}

/** Explains the Service that an agent has. Rejects with a `UserError` if no manifest declares it. */
export async function explainedService(
  name: string,
  { rootDir, namespace = 'default' }: { rootDir: string; namespace?: string },
  snapshot: EngineSnapshot,
): Promise<ServiceExplanation> {
  const declared = await declaredConfigObjects(rootDir, snapshot.nodeName);
  for (const { object, where } of declared) {
    if (object.kind !== 'Service' || object.name !== name || object.namespace !== namespace) continue;
    const addresses = declared.map((one) => one.object).filter(isServiceAddresses);
    const allocations = (await readAllocations(rootDir)) ?? new Map<string, Allocation>();
    const allocation = allocations.get(serviceKey(object));
    const serviceProblems = knownServiceProblems(declared, allocations, snapshot);
    return explainService({ service: object, where, addresses, allocation }, { ...snapshot, serviceProblems });
  }
  const hint = brokenManifests(snapshot.sources.flatMap(({ problems }) => problems));
  throw new UserError(`no Service "${visible(name)}" is declared in namespace ${visible(namespace)}`, {
    hint: hint ?? 'List them: kubelet-ts get svc',
  });
}

/** Explains a Service by its problems and by its pods. */
export function explainService(
  subject: ServiceSubject,
  snapshot: Pick<EngineSnapshot, 'pods'> & { serviceProblems?: readonly ServiceProblem[] },
): ServiceExplanation {
  const { namespace, name } = subject.service;
  const known = (snapshot.serviceProblems ?? []).filter(
    (one) => one.kind === 'Service' && one.namespace === namespace && one.name === name,
  );
  const at = (stage: ServiceProblem['stage']): Finding | undefined => {
    const problem = known.find((one) => one.stage === stage);
    return problem && { stage, cause: problem.message, evidence: [], fixes: [problem.hint] };
  };
  const pods = snapshot.pods.filter(({ pod: { metadata } }) =>
    isSelected(subject.service, { namespace: metadata.namespace, labels: metadata.labels ?? {} }),
  );
  const finding =
    at('address') ?? at('endpoints') ?? explainPods(subject.service, pods) ?? at('rules') ?? serving(subject, pods);
  const evidence = [{ from: subject.where, text: 'declares it' }, ...finding.evidence];
  return { namespace, name: `service/${name}`, ...finding, evidence };
}

/** Finds why connections reach none of its pods. Returns undefined if they reach one, or if it has no selector. */
function explainPods(service: Service, pods: readonly PodSnapshot[]): Finding | undefined {
  const { namespace, selector, type, ports, publishNotReadyAddresses } = service;
  const labels = Object.entries(selector).map(([key, value]) => `${key}=${value}`);
  if (labels.length === 0 || type === 'ExternalName') return undefined;
  if (pods.length === 0)
    return {
      stage: 'endpoints',
      cause: `selects no pod: none in namespace ${namespace} has the labels ${labels.join(',')}`,
      evidence: [],
      fixes: [`Correct its selector, or the labels: kubelet-ts get pods -n ${namespace} --show-labels`],
    };
  const usable = pods.filter(({ pod }) => publishNotReadyAddresses || isPodReady(pod.status));
  if (usable.length === 0)
    return {
      stage: 'endpoints',
      cause: 'has no endpoints, because none of its pods is Ready',
      evidence: podEvidence(pods),
      fixes: pods.slice(0, 1).map(({ pod }) => `Find out why: kubelet-ts explain ${podKey(pod.metadata)}`),
    };
  const found = usable.map(toServicePod);
  const port = ports.find(({ targetPort, protocol }) => {
    const hasPort = found.some((pod) =>
      pod.namedPorts.some((one) => one.name === targetPort && one.protocol === protocol),
    );
    return typeof targetPort === 'string' && !hasPort;
  });
  return (
    port && {
      stage: 'endpoints',
      cause: `has no endpoints for port ${port.port}, because no Ready pod has a ${port.protocol} port named ${port.targetPort}`,
      evidence: podEvidence(pods),
      fixes: ['Name a port of the container so, or write its number as targetPort.'],
    }
  );
}

const toServicePod = ({ pod, worker }: PodSnapshot): ReturnType<typeof servicePod> =>
  servicePod(pod, {
    ips: (pod.status?.podIPs ?? []).flatMap(({ ip = '' }) => ip),
    isTerminating: worker.state !== 'sync',
  });

const podEvidence = (pods: readonly PodSnapshot[]): Evidence[] =>
  pods.map(({ pod, worker }) => ({
    from: `pod ${podKey(pod.metadata)}`,
    text: `${podStatusText(pod, worker)}, ${isPodReady(pod.status) ? 'Ready' : 'not Ready'}`,
  }));

function serving({ service, addresses, allocation }: ServiceSubject, pods: readonly PodSnapshot[]): Finding {
  const good = { stage: 'serving' as const, fixes: [] };
  if (service.type === 'ExternalName')
    return { ...good, cause: `its name leads to ${service.externalName}`, evidence: [] };
  if (!hasClusterIP(service) || allocation === undefined)
    return { ...good, cause: 'its name resolves to the addresses of its pods', evidence: podEvidence(pods) };
  const backends = { pods: pods.map(toServicePod), addresses };
  const forwarded = computeForwarding([service], new Map([[serviceKey(service), allocation]]), backends);
  const evidence = forwarded.map(({ at, port, protocol, endpoints }) => ({
    from: `${'node' in at ? `port of the node, ${at.node}` : at.clusterIP} ${port}/${protocol}`,
    text: endpoints.map((one) => `${one.ip.includes(':') ? `[${one.ip}]` : one.ip}:${one.port}`).join(', ') || '<none>',
  }));
  return { ...good, cause: `forwards connections to ${allocation.clusterIPs.join(' and ')}`, evidence };
}
