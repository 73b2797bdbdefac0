import type { FieldProblem } from '../decoding/manifest-object.ts';

const annotation = 'helm.sh/hook';

/** True for a hook that Helm runs only at some other time than when its chart is installed, such as a test. */
export function isOtherHook(annotations: Readonly<Record<string, string>> = {}): boolean {
  const hook = annotations[annotation];
  return hook !== undefined && !eventsOf(hook).some((event) => event.endsWith('-install'));
}

/** Warns that Helm runs this object at another time. `helm template` prints hooks together with the other objects. */
export function helmHookProblems(annotations: Readonly<Record<string, string>> = {}): FieldProblem[] {
  const hook = annotations[annotation];
  if (hook === undefined) return [];
  const events = eventsOf(hook).join(', ');
  const [message, hint] = isOtherHook(annotations)
    ? [`Helm runs this only at ${events}: no pod is declared`, `Remove the annotation ${annotation} to run it.`]
    : [
        `Helm runs this at ${events}: here it starts together with the other pods`,
        'Order the pods with the annotation kubelet-ts.io/depends-on.',
      ];
  return [{ field: `metadata.annotations[${annotation}]`, message, hint, severity: 'warning' }];
}

const eventsOf = (hook: string): string[] => hook.split(',').map((event) => event.trim());
