SET allow_experimental_database_iceberg = 1;

CREATE DATABASE lake
ENGINE = DataLakeCatalog('http://catalog:8181/v1', 'walberg', 'walberg-secret')
SETTINGS catalog_type = 'rest', warehouse = 's3://lake/warehouse', storage_endpoint = 'http://s3:9000/lake';
