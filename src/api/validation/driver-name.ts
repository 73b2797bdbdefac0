import type { FieldErrors } from '../values/field-errors.ts';
import { checkDNS1123Subdomain } from '../values/names.ts';

const maxDriverBytes = 63;

/** kubelet: pkg/apis/core/validation/validation.go ValidateCSIDriverName */
export function validateDriverName(errors: FieldErrors, field: string, driver: string): void {
  if (driver === '') errors.required(field);
  if (driver.length > maxDriverBytes) errors.tooLong(field, `must be at most ${maxDriverBytes} bytes`);
  errors.invalidIf(field, driver, checkDNS1123Subdomain(driver.toLowerCase()));
}
