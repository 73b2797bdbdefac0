import { reasons } from '../../engine/view/reasons.ts';
import { type DeclaredObjectRef, problemSentence } from '../../engine/view/service-problem.ts';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';

/** A problem of a Service as an event. */
interface ProblemEvent {
  namespace: string;
  /** Such as `service/web`. */
  name: string;
  type: 'Warning';
  reason: string;
  message: string;
  count: number;
  firstAt: number;
  lastAt: number;
}

/** What is wrong with Services now, as events. */
export function problemEvents(snapshot: EngineSnapshot | undefined): ProblemEvent[] {
  return (snapshot?.serviceProblems ?? []).map((problem) => ({
    namespace: problem.namespace,
    name: objectName(problem),
    type: 'Warning',
    reason: reasons.serviceProblem,
    message: problemSentence(problem),
    count: 1,
    firstAt: problem.since,
    lastAt: problem.since,
  }));
}

/** Such as `service/web`. */
export const objectName = ({ kind, name }: DeclaredObjectRef): string => `${kind.toLowerCase()}/${name}`;
