import { isReplicatedKind, isWorkloadKind } from '../../api/values/workload.ts';
import { workloadActions } from '../../engine/workloads/workload-operations.ts';
import { ControlRefusal, sendJSON, unlessRefused } from './control-answer.ts';
import type { ControlContext, ControlRoutes } from './control-route.ts';
import { readOptions } from './read-body.ts';

/**
 * Declared workloads.
 * - `POST /v1/workloads/{kind}/{namespace}/{name}/{action}`: scale (option `replicas`), restart, undo (option `to`),
 *   pause, resume. Of a CronJob: run, whose message is the name of the Job. Answers `{"message": …}` once the request
 *   is on disk.
 */
export function workloadRoutes(context: ControlContext): ControlRoutes {
  return {
    'POST /v1/workloads/{kind}/{namespace}/{name}/{action}': async (call) => {
      const { kind = '', namespace = '', name = '', action: word = '' } = call.params;
      const action = workloadActions.find((known) => known === word);
      if (action === undefined) throw new ControlRefusal(404, `there is no action ${word}`);
      if (!isWorkloadKind(kind) || isReplicatedKind(kind) === (action === 'run'))
        throw new ControlRefusal(404, `${action} is not for a ${kind}`);
      const { replicas, to } = await readOptions(call.request);
      if (replicas !== undefined && typeof replicas !== 'number')
        throw new ControlRefusal(400, 'replicas must be a number');
      if (to !== undefined && typeof to !== 'number') throw new ControlRefusal(400, 'to must be a number');
      const engine = await context.engineFor(call);
      await unlessRefused(() => engine.settled());
      const request = {
        action,
        workload: { kind, namespace, name },
        ...(replicas !== undefined && { replicas }),
        ...(to !== undefined && { to }),
      };
      sendJSON(call.response, { message: await unlessRefused(() => engine.operateWorkload(request)) });
    },
  };
}
