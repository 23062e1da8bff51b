import { BOOLEAN, declare, int, oneOf, TEXT, type Property } from '../property.js';

const { supported, accepted, alias } = declare('runtime', 'quarkus.');
const debezium = declare('runtime', 'debezium.');

/** Names of java.util.logging and JBoss levels, to pino's. */
const LEVELS = {
  OFF: 'silent', FATAL: 'fatal', ERROR: 'error', SEVERE: 'error', WARN: 'warn', WARNING: 'warn', INFO: 'info', CONFIG: 'info',
  DEBUG: 'debug', FINE: 'debug', FINER: 'trace', TRACE: 'trace', FINEST: 'trace', ALL: 'trace',
} as const;

/** Status port and logs. */
export const RUNTIME: readonly Property[] = [
  supported('http.port', int(0, 65535), 'Port of /q/health, /q/health/live, /q/health/ready and /q/metrics; 0 = none.', { default: '8080', example: '8080' }),
  supported('http.host', TEXT, 'Address the port listens on.', { default: '0.0.0.0' }),
  supported('management.enabled', BOOLEAN, 'Whether management.port counts.', { default: 'true' }),
  supported('management.port', int(0, 65535), 'Port of health and metrics. When set it takes the place of http.port: there is one port.', {
    defaultWords: 'the value of quarkus.http.port',
    touches: (s) => s.boolean('quarkus.management.enabled'),
    differs: { debezium: '9000 (Java sink)', because: 'one port serves health and metrics; set it to 9000 to keep existing probes' },
  }),
  supported('management.host', TEXT, 'Address management.port listens on.', { default: '0.0.0.0' }),
  supported('log.level', oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], LEVELS), 'Least level that is logged. Java level names are understood.', { default: 'info', example: 'INFO' }),
  supported('log.console.json', BOOLEAN, 'One JSON object per line, or text for people.', { default: 'true', example: 'true' }),
  alias('log.console.json.enabled', 'quarkus.log.console.json', 'Newer name of quarkus.log.console.json.'),
  accepted('log.category.<name>', 'Level of one Java package.', 'there are no Java packages'),
  accepted('log.<rest>', 'Other log settings.', 'logs go to standard output; level and form are set by log.level and log.console.json'),
  accepted('<rest>', 'Other settings of Quarkus.', 'Quarkus is not used'),
  debezium.accepted('api.enabled', "The server's own REST API.", 'there is none', { default: 'false' }),
  debezium.accepted('api.<rest>', "The server's own REST API.", 'there is none'),
];
