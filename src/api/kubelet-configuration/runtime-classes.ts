import { toRuntimeClass } from '../objects/load-node-class.ts';
import { FieldErrors } from '../values/field-errors.ts';
import type { RuntimeClass } from '../values/node-class.ts';
import type { ConfigurationErrors } from './configuration-errors.ts';
import type { KubeletConfiguration } from './types.ts';

type Declared = KubeletConfiguration['runtimeClasses'][number];

/** The classes of a valid configuration. They are like documents of kind RuntimeClass, with the name in front. */
export function configuredRuntimeClasses({
  runtimeClasses,
}: Pick<KubeletConfiguration, 'runtimeClasses'>): RuntimeClass[] {
  return runtimeClasses.map((declared) => loaded(declared, new FieldErrors()));
}

export function validateRuntimeClasses(errors: ConfigurationErrors, { runtimeClasses }: KubeletConfiguration): void {
  const names = new Set<string>();
  for (const [index, declared] of runtimeClasses.entries()) {
    const field = `runtimeClasses[${index}]`;
    const broken = new FieldErrors();
    loaded(declared, broken);
    for (const one of broken.list) {
      errors.add(`${field}.${one.field.replace(/^metadata\./, '')}`, `${one.type}: ${one.message}`, one.hint);
    }
    if (names.has(declared.name)) errors.add(`${field}.name`, `"${declared.name}" is declared twice`);
    names.add(declared.name);
  }
}

function loaded({ name, handler, overhead, scheduling }: Declared, errors: FieldErrors): RuntimeClass {
  const { podFixed } = overhead;
  const { nodeSelector } = scheduling;
  return toRuntimeClass(errors, {
    metadata: { name },
    handler,
    ...(Object.keys(podFixed).length > 0 && { overhead: { podFixed } }),
    ...(Object.keys(nodeSelector).length > 0 && { scheduling: { nodeSelector } }),
  });
}
