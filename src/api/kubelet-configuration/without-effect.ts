import { gatesWithoutEffect } from '../values/feature-gates.ts';
import { configurationFields } from './schema.ts';
import { completeConfiguration, setDefaults } from './set-defaults.ts';
import type { KubeletConfiguration } from './types.ts';

/** The fields without effect here that are set to a value other than their default, each with the reason. */
export function fieldsWithoutEffect(configuration: KubeletConfiguration): { field: string; reason: string }[] {
  const defaults = completeConfiguration(setDefaults({}));
  const fields = configurationFields().flatMap(({ path, without }) =>
    without === undefined || textOf(configuration, path) === textOf(defaults, path)
      ? []
      : [{ field: path, reason: without }],
  );
  const gates = gatesWithoutEffect(configuration.featureGates).map((name) => ({
    field: `featureGates[${name}]`,
    reason: 'no feature here depends on this gate',
  }));
  return [...fields, ...gates];
}

function textOf(configuration: KubeletConfiguration, path: string): string | undefined {
  let value: unknown = configuration;
  for (const name of path.split('.')) {
    value =
      typeof value === 'object' && value !== null
        ? new Map<string, unknown>(Object.entries(value)).get(name)
        : undefined;
  }
  return value === undefined ? undefined : JSON.stringify(value);
}
