import type * as core from 'kubernetes-types/core/v1.js';
import { parseImageName } from '../values/image-name.ts';
import type { FieldProblem } from '../decoding/manifest-object.ts';
import { parseQuantity } from '../values/quantity.ts';
import type { RawPod } from '../types.ts';

/**
 * Warns of values that a pod may have but hardly means: images that no registry can have, amounts that are off by a
 * factor, the mark of a mirror pod.
 */
export function doubtfulFields({ metadata, spec }: RawPod): FieldProblem[] {
  return [
    ...doubtfulAnnotations(metadata?.annotations ?? {}),
    ...(['containers', 'initContainers'] as const).flatMap((list) =>
      (spec?.[list] ?? []).flatMap((container, index) => doubtfulIn(`spec.${list}[${index}]`, container)),
    ),
  ];
}

const mirror = 'kubernetes.io/config.mirror';

function doubtfulAnnotations(annotations: Readonly<Record<string, string>>): FieldProblem[] {
  if (annotations[mirror] === undefined) return [];
  const message = `${mirror} marks what an API server has in place of a static pod: the pod will not start`;
  return [warn(`metadata.annotations[${mirror}]`, message, 'Remove the annotation.')];
}

function doubtfulIn(field: string, { image, resources }: core.Container): FieldProblem[] {
  return [
    ...(image === undefined ? [] : doubtfulImage(`${field}.image`, image)),
    ...(['limits', 'requests'] as const).flatMap((list) =>
      Object.entries(resources?.[list] ?? {}).flatMap(([name, amount]) =>
        doubtfulAmount(`${field}.resources.${list}[${name}]`, name, amount),
      ),
    ),
  ];
}

function doubtfulImage(field: string, image: string): FieldProblem[] {
  if (parseImageName(image)) return [];
  const lower = image.toLowerCase();
  const hint = parseImageName(lower) ? `Did you mean "${lower}"?` : 'Such as "registry.example/app:1.2".';
  return [warn(field, `"${image.slice(0, 100)}" is not an image name: nothing can be pulled`, hint)];
}

const nanosPerUnit = 1_000_000_000n;
/** Hardly any machine has this many processors, and no container runs in so few bytes. */
const manyProcessors = 100n * nanosPerUnit;
const fewBytes = 64n * 1024n * nanosPerUnit;

function doubtfulAmount(field: string, name: string, amount: string): FieldProblem[] {
  const nanos = parseQuantity(amount)?.nanos ?? 0n;
  if (name === 'cpu' && nanos >= manyProcessors) {
    const hint = /^[0-9]+$/.test(amount) ? `Did you mean "${amount}m"?` : undefined;
    return [warn(field, `cpu ${amount} means whole processors`, hint)];
  }
  if (name === 'memory' && nanos > 0n && nanos < fewBytes) {
    const number = /^([0-9]+)m?$/.exec(amount)?.[1];
    const hint = number === undefined ? undefined : `Did you mean "${number}Mi"?`;
    return [warn(field, `memory ${amount} means ${amount.endsWith('m') ? 'thousandths of a byte' : 'bytes'}`, hint)];
  }
  return [];
}

function warn(field: string, message: string, hint: string | undefined): FieldProblem {
  return { field, message, ...(hint !== undefined && { hint }), severity: 'warning' };
}
