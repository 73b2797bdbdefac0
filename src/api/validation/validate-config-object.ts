import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';
import type { FieldErrors } from '../values/field-errors.ts';
import { checkConfigMapKey } from '../values/names.ts';
import { validateObjectMeta } from './validate-metadata.ts';

/** The values of a ConfigMap or a Secret by field. */
export type ConfigObjectFields = Partial<Record<'data' | 'binaryData' | 'stringData', ReadonlyMap<string, Uint8Array>>>;

/** Limit on all values of one object together. kubelet: pkg/apis/core/types.go MaxSecretSize */
const maxBytes = 1024 * 1024;

/** A ConfigMap, or a Secret with its type. kubelet: validation.go ValidateConfigMap, ValidateSecret */
export function validateConfigObject(
  errors: FieldErrors,
  object: { metadata: ObjectMeta & { name: string; namespace: string }; type: string; fields: ConfigObjectFields },
): void {
  const { metadata, fields, type } = object;
  if (metadata.name === '') errors.required('metadata.name', 'a name is needed');
  else validateObjectMeta(errors, metadata);
  for (const [field, values] of Object.entries(fields)) {
    for (const key of values.keys()) errors.invalidIf(`${field}[${key}]`, key, checkConfigMapKey(key));
  }
  for (const key of fields.binaryData?.keys() ?? []) {
    if (fields.data?.has(key)) errors.invalid(`binaryData[${key}]`, key, 'is a key of data too');
  }
  const values = new Map(Object.values(fields).flatMap((map) => [...map]));
  const bytes = [...values.values()].reduce((sum, value) => sum + value.length, 0);
  if (bytes > maxBytes) errors.tooLong('data', `must be no more than ${maxBytes} bytes in all`);
  validateSecretType(errors, { type, metadata, values, fieldOf: (key) => fieldWith(fields, key) });
}

function fieldWith({ stringData }: ConfigObjectFields, key: string): string {
  return stringData?.has(key) ? `stringData[${key}]` : `data[${key}]`;
}

interface TypedSecret {
  type: string;
  metadata: ObjectMeta;
  values: ReadonlyMap<string, Uint8Array>;
  fieldOf: (key: string) => string;
}

/** Checks the required keys of Secrets of a known type. Other types may contain anything. */
function validateSecretType(errors: FieldErrors, secret: TypedSecret): void {
  const { type, metadata, values, fieldOf } = secret;
  const requireKeys = (...keys: string[]): void => {
    for (const key of keys) if (!values.has(key)) errors.required(`data[${key}]`, `a Secret of type ${type} needs it`);
  };
  const requireJson = (key: string): void => {
    requireKeys(key);
    const value = values.get(key);
    if (value && !isJsonObject(value)) errors.invalid(fieldOf(key), '<not shown>', 'must be a JSON object');
  };
  switch (type) {
    case 'kubernetes.io/dockerconfigjson':
      requireJson('.dockerconfigjson');
      break;
    case 'kubernetes.io/dockercfg':
      requireJson('.dockercfg');
      break;
    case 'kubernetes.io/basic-auth':
      if (!values.has('username') && !values.has('password')) requireKeys('username', 'password');
      break;
    case 'kubernetes.io/ssh-auth':
      requireKeys('ssh-privatekey');
      break;
    case 'kubernetes.io/tls':
      requireKeys('tls.crt', 'tls.key');
      break;
    case 'kubernetes.io/service-account-token':
      if ((metadata.annotations?.['kubernetes.io/service-account.name'] ?? '') === '') {
        errors.required(
          'metadata.annotations[kubernetes.io/service-account.name]',
          `a Secret of type ${type} needs it`,
        );
      }
  }
}

function isJsonObject(bytes: Uint8Array): boolean {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    // The text is not JSON at all.
    return false;
  }
}
