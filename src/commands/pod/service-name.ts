import { resolveKind } from '../../engine/applied/applied-object.ts';

/** The name in `svc/web`. Returns undefined for another kind. */
export function serviceName(reference: string): string | undefined {
  const [kind = '', name] = reference.split('/');
  return resolveKind(kind) === 'Service' ? name : undefined;
}

/** Joins the kind of a Service with the name after it: `svc web` becomes `svc/web`. */
export function joinServiceKind(args: readonly string[]): string[] {
  const [kind = '', name, ...others] = args;
  const isService = name !== undefined && !kind.includes('/') && resolveKind(kind) === 'Service';
  return isService ? [`${kind}/${name}`, ...others] : [...args];
}
