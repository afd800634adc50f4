#!/bin/bash
echo first > /app/first
