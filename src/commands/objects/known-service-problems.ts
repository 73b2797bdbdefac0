import { hasClusterIP } from '../../api/values/service.ts';
import { type Allocation, serviceKey } from '../../engine/services/allocation.ts';
import type { ServiceProblem } from '../../engine/view/service-problem.ts';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import type { DeclaredObject } from './declared-config-objects.ts';

/** Returns the problems that an agent reports, and those of Services that it does not use because of their manifest. */
export function knownServiceProblems(
  declared: readonly DeclaredObject[],
  allocations: ReadonlyMap<string, Allocation>,
  { serviceProblems = [], sources }: Pick<EngineSnapshot, 'serviceProblems' | 'sources'>,
): ServiceProblem[] {
  const errors = sources.flatMap(({ problems }) => problems).filter(({ severity }) => severity === 'error');
  const unused = declared.flatMap(({ object, where }): ServiceProblem[] => {
    if (object.kind !== 'Service' || !hasClusterIP(object) || allocations.has(serviceKey(object))) return [];
    const { kind, namespace, name } = object;
    if (serviceProblems.some((one) => one.kind === kind && one.namespace === namespace && one.name === name)) return [];
    const error = errors.find(({ origin }) => origin === where);
    if (error === undefined) return [];
    const message = `gets no address, because its manifest has an error: ${error.message}`;
    return [{ kind, namespace, name, stage: 'address', message, hint: error.hint ?? `Correct ${where}.` }];
  });
  return [...serviceProblems, ...unused];
}
