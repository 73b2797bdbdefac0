import type { Pod } from '../../api/types.ts';
import { podKey } from '../../api/values/pod-names.ts';
import { hasClusterIP, type Service, type ServiceAddresses } from '../../api/values/service.ts';
import type { ServiceProblem } from '../view/service-problem.ts';
import { type Allocation, type AllocationProblem, serviceKey } from './allocation.ts';

/** Why the kernel does not forward a Service. */
export interface RulesProblem extends Pick<ServiceProblem, 'message' | 'hint'> {
  service: Pick<Service, 'namespace' | 'name'>;
}

interface State {
  services: readonly Service[];
  addresses: readonly ServiceAddresses[];
  allocations: ReadonlyMap<string, Allocation>;
  /** The pods that may run. */
  pods: readonly Pod[];
  /** Services that do not get the addresses or ports that they ask for. */
  refusals: readonly AllocationProblem[];
  /** Why no Service is forwarded. */
  ofAll: Pick<ServiceProblem, 'message' | 'hint'> | undefined;
  ofRules: readonly RulesProblem[];
}

/** Finds Services that do not work as declared, and Endpoints that no Service uses. */
export function serviceProblems(state: State): ServiceProblem[] {
  const { services, addresses, refusals, ofAll, ofRules } = state;
  const problem = (
    stage: ServiceProblem['stage'],
    { namespace, name }: Pick<Service, 'namespace' | 'name'>,
    { message, hint }: Pick<ServiceProblem, 'message' | 'hint'>,
  ): ServiceProblem => ({ kind: 'Service', namespace, name, stage, message, hint });
  return [
    ...refusals.map((refusal) => problem('address', refusal.service, refusal)),
    ...services.flatMap((service) =>
      endpointProblems(
        service,
        addresses.filter((one) => isOf(one, service)),
      ).map((one) => problem('endpoints', service, one)),
    ),
    ...(ofAll === undefined ? [] : services.filter(hasClusterIP).map((service) => problem('rules', service, ofAll))),
    ...services.flatMap((service) => sharedPorts(service, state).map((one) => problem('rules', service, one))),
    ...ofRules.map((one) => problem('rules', one.service, one)),
    ...addresses.filter((one) => !services.some((service) => isOf(one, service))).map(unusedAddresses),
  ];
}

const isOf = ({ namespace, service }: ServiceAddresses, one: Service): boolean =>
  namespace === one.namespace && service === one.name;

function unusedAddresses({ kind, namespace, name, service }: ServiceAddresses): ServiceProblem {
  const message = `has no effect, because its namespace has no Service ${service}`;
  return { kind, namespace, name, stage: 'endpoints', message, hint: `Declare Service ${service}, or remove it.` };
}

/** Finds the ports of the node that a pod has too. */
function sharedPorts(service: Service, { allocations, pods }: State): Finding[] {
  return Object.entries(allocations.get(serviceKey(service))?.nodePorts ?? {}).flatMap(([key, nodePort]) => {
    const [protocol = ''] = key.split('/');
    const holder = pods.find(({ spec: { containers, initContainers = [] } }) =>
      [...containers, ...initContainers].some(({ ports = [] }) =>
        ports.some((port) => port.hostPort === nodePort && (port.protocol ?? 'TCP') === protocol),
      ),
    );
    if (holder === undefined) return [];
    const shares = `shares ${protocol} port ${nodePort} of this node with pod ${podKey(holder.metadata)}`;
    return [{ message: `${shares}, and only one of them answers`, hint: 'Write another nodePort or hostPort.' }];
  });
}

type Finding = Pick<ServiceProblem, 'message' | 'hint'>;

/** Problems that no change of a pod solves. `own` are its Endpoints. */
function endpointProblems({ type, selector, ports }: Service, own: readonly ServiceAddresses[]): Finding[] {
  if (type === 'ExternalName') return [];
  if (Object.keys(selector).length > 0)
    return own.map(({ kind, name }) => ({
      message: `has a selector, so ${kind} ${name} has no effect`,
      hint: 'Remove one of the two.',
    }));
  if (own.length === 0)
    return [
      {
        message: 'has no endpoints, because it has neither a selector nor Endpoints',
        hint: 'Add a selector, or declare Endpoints with its name.',
      },
    ];
  const found = own.flatMap(({ subsets }) => subsets.flatMap((subset) => subset.ports));
  const titles = own.map(({ kind, name }) => `${kind} ${name}`).join(', ');
  return ports
    .filter(({ name, protocol }) => !found.some((port) => port.name === name && port.protocol === protocol))
    .map(({ name, protocol, port }) => {
      const wanted = name === '' ? `${protocol} port without a name` : `${protocol} port named ${name}`;
      return {
        message: `has no endpoints for port ${port}, because ${titles} has no ${wanted}`,
        hint: 'Use the same names of ports in both.',
      };
    });
}
